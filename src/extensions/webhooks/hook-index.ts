/**
 * An index of the webhooks of all configurations of a kind, by what they match. It applies changes of the view when it
 * is queried, so a configuration is in force as soon as its write is answered; a cluster without webhooks only pays for
 * one comparison.
 */
import type { Kind, ResourceId } from '../../api/kind/kind.ts';
import type { KindTable } from '../../api/kinds/kinds.ts';
import { composedKey } from '../../composed-key.ts';
import type { Collection } from '../../registry/view/collection.ts';
import { Follower } from '../../registry/view/follower.ts';
import type { View } from '../../registry/view/view.ts';
import { isRuled, type WriteQuestion } from '../writes/write-question.ts';
import { type Hook, hooksOf } from './hook.ts';

/** A webhook to call, and the version of the kind that it gets. */
export interface HookMatch {
  readonly hook: Hook;
  readonly kind: Kind;
}

const none: readonly HookMatch[] = [];

export class HookIndex {
  readonly #collection: Collection;
  readonly #follower: Follower<{ name: string; hooks: readonly Hook[] }>;
  readonly #configurations = new Map<string, readonly Hook[]>();
  /** Cached results of queries since the last change. */
  readonly #answers = new Map<string, readonly HookMatch[]>();
  #sorted: readonly Hook[] = [];
  /** The state of the collection and of the kind table for which the cached results are valid. */
  #seen = -1;
  #generation = -1;

  constructor(
    view: View,
    private readonly kinds: KindTable,
    resource: 'mutatingwebhookconfigurations' | 'validatingwebhookconfigurations',
  ) {
    this.#collection = view.collection(`admissionregistration.k8s.io/${resource}` as ResourceId);
    this.#follower = new Follower(this.#collection, {
      read: (entry) => ({ name: entry.name, hooks: hooksOf(entry.peek()) }),
      gained: ({ name, hooks }) => this.#configurations.set(name, hooks),
      lost: ({ name }) => this.#configurations.delete(name),
    });
  }

  /** The matching webhooks in the order in which they are called: by configuration name, then as listed there. */
  find(question: WriteQuestion): readonly HookMatch[] {
    if (this.#collection.endNumber !== this.#seen) this.#catchUp();
    if (this.#sorted.length === 0) return none;
    if (this.kinds.generation !== this.#generation) this.#forget();
    const { kind, subresource, operation } = question;
    const key = composedKey(kind.apiVersion, kind.resource, subresource ?? '', operation);
    const known = this.#answers.get(key);
    if (known) return known;
    const found = this.#match(question);
    this.#answers.set(key, found);
    return found;
  }

  #catchUp(): void {
    this.#follower.catchUp();
    this.#seen = this.#collection.endNumber;
    const names = [...this.#configurations.keys()].sort();
    this.#sorted = names.flatMap((name) => this.#configurations.get(name)!);
    this.#forget();
  }

  #forget(): void {
    this.#answers.clear();
    this.#generation = this.kinds.generation;
  }

  #match({ kind, subresource, operation }: WriteQuestion): readonly HookMatch[] {
    const found: HookMatch[] = [];
    for (const hook of this.#sorted) {
      const fits = (version: Kind): boolean => isRuled(hook.rules, version, subresource, operation);
      const matched = fits(kind)
        ? kind
        : hook.equivalent
          ? [...this.kinds.shownVersions(kind.storage.id)].find((other) => other !== kind && fits(other))
          : undefined;
      if (matched) found.push({ hook, kind: matched });
    }
    return found;
  }
}
