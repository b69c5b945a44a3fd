/** The page's side of the worker: one check at a time, and of those that wait only the latest. */

import type { Answer, Parts, Report, Request } from "./answers";
import type { File } from "./program";

export type State = "loading" | "checking" | "idle";

export class Checker {
  private worker: Worker | null = null;
  private running: File | null = null;
  private waiting: File | null = null;
  private isReady = false;

  constructor(
    private readonly script: string,
    private readonly parts: Parts,
    private readonly listener: {
      changed(state: State): void;
      found(report: Report, seconds: number): void;
      failed(message: string): void;
    },
  ) {
    this.start();
  }

  check(file: File): void {
    if (this.running === null) this.send(file);
    else this.waiting = file;
  }

  /** End the check that runs; the next one starts Python anew. */
  stop(): void {
    this.worker?.terminate();
    this.running = this.waiting = null;
    this.start();
  }

  private start(): void {
    this.isReady = false;
    const address = URL.createObjectURL(new Blob([this.script], { type: "text/javascript" }));
    this.worker = new Worker(address);
    this.worker.onmessage = ({ data }: MessageEvent<Answer>) => this.hear(data);
    this.worker.onerror = (event) => this.hear({ kind: "failed", message: event.message });
    this.ask({ kind: "start", parts: this.parts });
    this.listener.changed("loading");
  }

  private send(file: File): void {
    this.running = file;
    this.ask({ kind: "check", ...file });
    this.listener.changed(this.isReady ? "checking" : "loading");
  }

  private ask(request: Request): void {
    this.worker?.postMessage(request);
  }

  private hear(answer: Answer): void {
    if (answer.kind === "ready") {
      this.isReady = true;
      this.listener.changed(this.running === null ? "idle" : "checking");
      return;
    }
    const next = this.waiting;
    this.running = this.waiting = null;
    if (answer.kind === "failed") {
      // Python may be in any state now.
      this.stop();
      this.listener.failed(answer.message);
    } else if (next === null) {
      this.listener.changed("idle");
      this.listener.found(answer.report, answer.seconds);
    }
    if (next !== null) this.send(next);
  }
}
