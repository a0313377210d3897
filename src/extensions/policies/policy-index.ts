/**
 * An index of the policies of a kind with their bindings, by what they match. It applies changes of the view when it is
 * queried, so a policy is in force as soon as the write of its binding is answered; a cluster without policies only
 * pays for one comparison.
 */
import type { ResourceId } from '../../api/kind/kind.ts';
import type { KindTable } from '../../api/kinds/kinds.ts';
import { composedKey } from '../../composed-key.ts';
import type { Collection } from '../../registry/view/collection.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { Follower } from '../../registry/view/follower.ts';
import type { View } from '../../registry/view/view.ts';
import type { WriteQuestion } from '../writes/write-question.ts';
import type { Match } from './match.ts';

export interface IndexedPolicy {
  readonly name: string;
  readonly match: Match;
}

export interface IndexedBinding {
  readonly name: string;
  readonly policyName: string;
}

/** A policy with its bindings, sorted by name. */
export interface BoundPolicy<P, B> {
  readonly policy: P;
  readonly bindings: readonly B[];
}

interface Form<P, B> {
  readonly policies: string;
  readonly bindings: string;
  readPolicy(entry: Entry): P;
  readBinding(entry: Entry): B;
}

export class PolicyIndex<P extends IndexedPolicy, B extends IndexedBinding> {
  readonly #kinds: KindTable;
  readonly #policies: Followed<P>;
  readonly #bindings: Followed<B>;
  /** Cached results of queries since the last change. */
  readonly #answers = new Map<string, readonly BoundPolicy<P, B>[]>();
  #bound: readonly BoundPolicy<P, B>[] = [];
  #generation = -1;

  constructor(view: View, kinds: KindTable, form: Form<P, B>) {
    this.#kinds = kinds;
    this.#policies = new Followed(view, form.policies, form.readPolicy);
    this.#bindings = new Followed(view, form.bindings, form.readBinding);
  }

  /** Policies that may match a write, sorted by name. */
  find(question: WriteQuestion): readonly BoundPolicy<P, B>[] {
    const policiesChanged = this.#policies.catchUp();
    if (this.#bindings.catchUp() || policiesChanged) this.#bind();
    if (this.#bound.length === 0) return this.#bound;
    if (this.#kinds.generation !== this.#generation) this.#forget();
    const { kind, subresource, operation } = question;
    const key = composedKey(kind.apiVersion, kind.resource, subresource ?? '', operation);
    let found = this.#answers.get(key);
    if (!found) {
      found = this.#bound.filter(({ policy }) => policy.match.isFor(question, this.#kinds));
      this.#answers.set(key, found);
    }
    return found;
  }

  #bind(): void {
    const byPolicy = new Map<string, B[]>();
    for (const binding of this.#bindings.sorted()) {
      const known = byPolicy.get(binding.policyName);
      if (known) known.push(binding);
      else byPolicy.set(binding.policyName, [binding]);
    }
    this.#bound = this.#policies.sorted().flatMap((policy) => {
      const bindings = byPolicy.get(policy.name);
      return bindings ? [{ policy, bindings }] : [];
    });
    this.#forget();
  }

  #forget(): void {
    this.#answers.clear();
    this.#generation = this.#kinds.generation;
  }
}

/** The objects of a collection, each parsed once. */
class Followed<T extends { readonly name: string }> {
  readonly #collection: Collection;
  readonly #follower: Follower<T>;
  readonly #values = new Map<string, T>();
  #seen = -1;

  constructor(view: View, resource: string, read: (entry: Entry) => T) {
    this.#collection = view.collection(`admissionregistration.k8s.io/${resource}` as ResourceId);
    this.#follower = new Follower(this.#collection, {
      read,
      gained: (value) => this.#values.set(value.name, value),
      lost: ({ name }) => this.#values.delete(name),
    });
  }

  /** Applies changes; returns whether there were any. */
  catchUp(): boolean {
    if (this.#collection.endNumber === this.#seen) return false;
    this.#follower.catchUp();
    this.#seen = this.#collection.endNumber;
    return true;
  }

  sorted(): readonly T[] {
    return [...this.#values.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}
