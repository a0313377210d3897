/** A key of a map, which some errors write as `labels[key]`. */
export interface MapKey {
  readonly key: string;
}

/** The place in an object where a walk is. It becomes text only when something is reported. */
export class ValuePath {
  readonly #steps: (string | number | MapKey)[] = [];

  push(step: string | number | MapKey): void {
    this.#steps.push(step);
  }

  pop(): void {
    this.#steps.pop();
  }

  /** `spec.list[0].name` */
  text(): string {
    let out = '';
    for (const step of this.#steps) {
      if (typeof step === 'number') out += `[${step}]`;
      else if (typeof step === 'object') out += `[${step.key}]`;
      else out += out === '' ? step : `.${step}`;
    }
    return out;
  }
}
