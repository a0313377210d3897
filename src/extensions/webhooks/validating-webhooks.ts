/** ValidatingAdmissionWebhook: hooks that may refuse objects, called at the same time. The first error counts. */

import type { Authorizer } from '../../api/kind/access.ts';
import type { Admission, AdmissionPlugin } from '../../registry/admission-chain.ts';
import type { Registry } from '../../registry/registry.ts';
import type { HookClient } from '../calls/hook-client.ts';
import { AskedWrite, questionOf } from '../writes/asked-write.ts';
import type { WriteQuestion } from '../writes/write-question.ts';
import { HookCalls } from './hook-calls.ts';
import { HookIndex, type HookMatch } from './hook-index.ts';

export class ValidatingWebhooks implements AdmissionPlugin {
  readonly name = 'ValidatingAdmissionWebhook';
  readonly #index: HookIndex;
  readonly #calls: HookCalls;

  constructor(
    private readonly registry: Registry,
    authorizer: Authorizer,
    client: HookClient,
  ) {
    this.#index = new HookIndex(registry.view, registry.kinds, 'validatingwebhookconfigurations');
    this.#calls = new HookCalls(registry, authorizer, client, false);
  }

  validate(_registry: Registry, admission: Admission): void | Promise<void> {
    return this.#asked(admission);
  }

  connect(_registry: Registry, admission: Admission): void | Promise<void> {
    return this.#asked(admission);
  }

  #asked(admission: Admission): void | Promise<void> {
    const question = questionOf(this.registry, admission);
    const matches = question && this.#index.find(question);
    return matches?.length ? this.#callAll(admission, question!, matches) : undefined;
  }

  async #callAll(
    admission: Admission,
    question: WriteQuestion,
    matches: readonly HookMatch[],
  ): Promise<void> {
    const write = new AskedWrite(this.registry, admission, question);
    const errors: unknown[] = [];
    await Promise.all(
      matches
        .filter(({ hook }) => write.isSelectedBy(hook))
        .map((match, at) =>
          this.#calls.ask(write, match, `round_0_index_${at}`).catch((error: unknown) => errors.push(error)),
        ),
    );
    if (errors.length) throw errors[0];
  }
}
