/** A list of field errors with bounds: paths and quoted values can be as long as a whole request. */
import type { FieldError } from '../errors/field-error.ts';

/** What a check finds: errors, and undefined for each node that it has looked at, so that it can pause there. */
export type NodeFindings = Generator<FieldError | undefined, void>;

/** Nodes after which a check may pause, and about how many steps each of them takes. */
const sliceNodes = 50;
const nodeSteps = 200;

const errorsMax = 1000;
const charsMax = 1_048_576;

export class BoundedErrors {
  readonly list: FieldError[] = [];
  #chars = 0;

  get isFull(): boolean {
    return this.list.length >= errorsMax || this.#chars >= charsMax;
  }

  add(error: FieldError): void {
    if (this.isFull) return;
    this.list.push(error);
    this.#chars += error.field.length + error.message.length;
  }

  /** Adds errors as long as there is room; the rest is not even made. */
  addAll(errors: Iterable<FieldError | undefined>): void {
    for (const error of errors) {
      if (this.isFull) return;
      if (error) this.add(error);
    }
  }

  /** The same in slices; each `yield` tells about how many steps it took. */
  *addInSlices(errors: NodeFindings): Generator<number, void> {
    let nodes = 0;
    for (const error of errors) {
      if (this.isFull) return;
      if (error) this.add(error);
      else if (++nodes % sliceNodes === 0) yield sliceNodes * nodeSteps;
    }
  }

  /** Forgets the errors from a position on, and returns them. */
  takeFrom(position: number): FieldError[] {
    const taken = this.list.splice(position);
    for (const { field, message } of taken) this.#chars -= field.length + message.length;
    return taken;
  }
}
