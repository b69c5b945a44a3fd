"""The trainer of Transformers; see the package."""

from gradlint_model import clear_gradients, differentiate, driver, rounds, unknown


class Trainer:
    def __init__(self, model=None, args=None, data_collator=None, train_dataset=None, **options):
        self.model = unknown() if model is None else model

    @driver("compute_loss")
    def train(self, resume_from_checkpoint=None, trial=None, ignore_keys_for_eval=None):
        for _ in rounds():
            loss = self.compute_loss(self.model, unknown())
            differentiate(self.compute_loss, loss)
            clear_gradients()


class Seq2SeqTrainer(Trainer):
    pass
