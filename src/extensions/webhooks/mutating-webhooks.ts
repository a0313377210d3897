/**
 * MutatingAdmissionWebhook: calls webhooks that may change objects, one after the other. When one has changed the
 * object, the plugins before it run once more, and so do webhooks before it with reinvocation.
 */

import type { Authorizer } from '../../api/kind/access.ts';
import type { Admission, AdmissionPlugin } from '../../registry/admission-chain.ts';
import type { Registry } from '../../registry/registry.ts';
import type { HookClient } from '../calls/hook-client.ts';
import { AskedWrite, questionOf } from '../writes/asked-write.ts';
import type { WriteQuestion } from '../writes/write-question.ts';
import type { Hook } from './hook.ts';
import { HookCalls } from './hook-calls.ts';
import { HookIndex, type HookMatch } from './hook-index.ts';

/** The first round of a write. */
interface FirstRound {
  /** Webhooks with reinvocation that were called. */
  readonly called: Set<Hook>;
  /** Those of them to call again, because the object was changed after their call. */
  readonly again: Set<Hook>;
  /** The object after the last webhook. */
  left: string;
}

export class MutatingWebhooks implements AdmissionPlugin {
  readonly name = 'MutatingAdmissionWebhook';
  readonly #index: HookIndex;
  readonly #calls: HookCalls;
  readonly #rounds = new WeakMap<Admission, FirstRound>();

  constructor(
    private readonly registry: Registry,
    authorizer: Authorizer,
    client: HookClient,
  ) {
    this.#index = new HookIndex(registry.view, registry.kinds, 'mutatingwebhookconfigurations');
    this.#calls = new HookCalls(registry, authorizer, client, true);
  }

  mutate(_registry: Registry, admission: Admission): void | Promise<void> {
    return this.#asked(admission);
  }

  /** Calls webhooks for deletes; creates and updates were handled in `mutate`. */
  validate(_registry: Registry, admission: Admission): void | Promise<void> {
    return admission.operation === 'delete' ? this.#asked(admission) : undefined;
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
    const { round = 0 } = admission;
    const first = this.#firstRound(admission);
    const { kind } = question;
    // Plugins of the server changed the object in the second round.
    if (round > 0 && write.objectText(kind) !== first.left) requireAgain(first);
    for (const [at, match] of matches.entries()) {
      const { hook } = match;
      if (round > 0 && !first.again.has(hook)) continue;
      if (!write.isSelectedBy(hook)) continue;
      const changed = await this.#call(write, match, `round_${round}_index_${at}`);
      if (changed) {
        requireAgain(first);
        admission.reinvoke = true;
      }
      if (hook.reinvoked) first.called.add(hook);
    }
    first.left = write.objectText(kind);
  }

  #firstRound(admission: Admission): FirstRound {
    let first = this.#rounds.get(admission);
    if (!first) {
      first = { called: new Set(), again: new Set(), left: '' };
      this.#rounds.set(admission, first);
    }
    return first;
  }

  /** Calls a webhook; returns whether it has changed the object. */
  async #call(write: AskedWrite, match: HookMatch, place: string): Promise<boolean> {
    const { admission } = write;
    const response = await this.#calls.ask(write, match, place);
    const { patch } = response ?? {};
    const mutated =
      patch !== undefined &&
      admission.object !== undefined &&
      (await write.patch(match.kind, Buffer.from(patch, 'base64')));
    if (response) {
      const { configuration, name: webhook } = match.hook;
      admission.request.annotate(
        `mutation.webhook.admission.k8s.io/${place}`,
        JSON.stringify({ configuration, webhook, mutated }),
      );
    }
    return mutated;
  }
}

/** Marks all webhooks called so far to be called again. */
function requireAgain({ called, again }: FirstRound): void {
  for (const hook of called) again.add(hook);
  called.clear();
}
