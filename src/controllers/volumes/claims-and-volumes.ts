/**
 * Which claims and volumes concern one another, as far as changes have told. Tenants may have many claims, and so many
 * volumes: neither are all of them looked at for one that changes, nor are they parsed again.
 */
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/types.ts';
import { keyOf } from '../shared/controller.ts';

/** Names by what they are about; each is about one thing at a time. */
class Names {
  readonly #topics = new Map<string, string>();
  readonly #names = new Map<string, Set<string>>();

  /** @param topic undefined: about nothing */
  note(name: string, topic: string | undefined): void {
    const before = this.#topics.get(name);
    if (before === topic) return;
    if (before !== undefined) {
      const others = this.#names.get(before)!;
      others.delete(name);
      if (others.size === 0) this.#names.delete(before);
    }
    if (topic === undefined) {
      this.#topics.delete(name);
      return;
    }
    this.#topics.set(name, topic);
    const others = this.#names.get(topic);
    if (others) others.add(name);
    else this.#names.set(topic, new Set([name]));
  }

  about(topic: string): Iterable<string> {
    return this.#names.get(topic) ?? [];
  }
}

/** The topic of volumes that are for no claim; no key of a claim is like it. */
const free = '';

export class ClaimsAndVolumes {
  /** Keys of claims that wait for a volume. */
  readonly #pending = new Set<string>();
  readonly #claims = new Names();
  readonly #volumes = new Names();

  /** Called when a claim has changed; undefined when it has gone. */
  noteClaim(key: string, claim: PersistentVolumeClaim | undefined): void {
    if (claim?.status?.phase === 'Pending') this.#pending.add(key);
    else this.#pending.delete(key);
    this.#claims.note(key, claim?.spec?.volumeName || undefined);
  }

  noteVolume(name: string, volume: PersistentVolume | undefined): void {
    const reference = volume?.spec?.claimRef;
    const topic = reference ? keyOf(reference.namespace ?? '', reference.name ?? '') : free;
    this.#volumes.note(name, volume && topic);
  }

  /** Claims that a change of a volume may concern: those that name it, its own, and for one without those that wait. */
  *concernedBy({ metadata, spec }: PersistentVolume): Generator<string> {
    yield* this.#claims.about(metadata.name!);
    if (spec?.claimRef) yield keyOf(spec.claimRef.namespace ?? '', spec.claimRef.name ?? '');
    else yield* this.#pending;
  }

  get pending(): Iterable<string> {
    return this.#pending;
  }

  /** Names of volumes that are for this claim. */
  ofClaim(key: string): Iterable<string> {
    return this.#volumes.about(key);
  }

  /** Names of volumes that a claim may get, in their order. */
  candidates(key: string): string[] {
    return [...this.#volumes.about(key), ...this.#volumes.about(free)].sort();
  }
}
