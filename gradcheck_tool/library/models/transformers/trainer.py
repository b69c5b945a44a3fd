"""The trainer of Transformers; see the package."""

from accelerate import Accelerator
from gradlint_model import clear_gradients, differentiate, driver, rounds, unknown


class Trainer:
    accelerator = Accelerator()

    def __init__(self, model=None, args=None, data_collator=None, train_dataset=None, **options):
        self.model = unknown() if model is None else model

    @driver("compute_loss", "training_step")
    def train(self, resume_from_checkpoint=None, trial=None, ignore_keys_for_eval=None):
        for _ in rounds():
            self.training_step(self.model, unknown())
            clear_gradients()

    def training_step(self, model, inputs, num_items_in_batch=None):
        differentiate(self.compute_loss, self.compute_loss(model, inputs))
        return unknown()

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return unknown()


class Seq2SeqTrainer(Trainer):
    pass
