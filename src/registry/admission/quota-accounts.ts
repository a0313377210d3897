/**
 * Quota accounts: what each namespace has used of its quotas.
 *
 * `status.used` of a quota is raised, durably, before an object is created. So it is never too low, and a quota holds
 * under any number of concurrent writes. Writes of one namespace that arrive together are decided one after the other
 * and share one write of the status. An object that was admitted and is not stored yet is *reserved*: a recount adds
 * reserved objects to those it finds. Where several servers share the store, one at a time has the account of a
 * namespace: it holds a lock, until all objects that it admitted are stored.
 */
import { forbidden, internal, type StatusError } from '../../api/errors/errors.ts';
import type { Pod, ResourceQuota } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import {
  countedUsage,
  isOnlyCounted,
  quotaCovers,
  quotaFacts,
  unspecified,
  usageAt,
} from '../../api/rules/quota/quota-usage.ts';
import { semanticEqual } from '../../api/text/object.ts';
import {
  compareQuantities,
  formatQuantity,
  parseQuantity,
  sign,
  subtractQuantities,
} from '../../api/values/quantity.ts';
import { addLists, type ResourceList } from '../../api/values/resource-list.ts';
import { Memo } from '../../memo.ts';
import type { Lock } from '../../store/store.ts';
import { givenInSlices } from '../../time-slices.ts';
import { type Admission, holdLock } from '../admission-chain.ts';
import type { Registry } from '../registry.ts';
import type { Request } from '../request.ts';
import { targetOf } from '../target.ts';
import type { Entry } from '../view/entry.ts';
import { Filter } from '../view/filter.ts';
import { actingAs } from '../writers.ts';

/** Attempts to write the status of a quota, each lost to another writer, before giving up. */
const roundsMax = 100;

/** What it costs to add up one object that was read before, and one byte of another (`time-slices.ts`). */
const knownSteps = 50;
const byteSteps = 2;

/** Each state of an object is read once: a recount follows every change in the namespace. */
const factsOf = new Memo((entry: Entry) => quotaFacts(entry.kind, entry.peek()));

/** What a write requests of each quota, by quota name. */
type Demands = Map<string, ResourceList>;

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

interface Claim extends Waiting {
  readonly admission: Admission;
}

interface Account {
  readonly claims: Claim[];
  readonly recounts: Waiting[];
  readonly reserved: Set<Demands>;
  /** Whether a recount saw reservations, and may have counted their objects twice. */
  doubtful: boolean;
  running: boolean;
}

interface OpenQuota {
  readonly entry: Entry;
  readonly object: ResourceQuota;
  used: ResourceList;
}

export class QuotaAccounts {
  readonly #accounts = new Map<string, Account>();
  /** Called when a recount is due; set by the quota controller, which runs at one server only. */
  onDoubt: (namespace: string) => void = (namespace) => {
    if (this.registry.store.locks) this.recount(namespace).catch(() => undefined);
  };

  constructor(private readonly registry: Registry) {}

  /** Resolves when the write is within the namespace's quotas and counted, rejects when it exceeds one. */
  admit(admission: Admission): void | Promise<void> {
    const { namespace } = admission.target;
    if (this.#quotas(namespace).length === 0) return;
    return new Promise((resolve, reject) => {
      this.#account(namespace).claims.push({ admission, resolve, reject });
      this.#run(namespace);
    });
  }

  /** Recounts the objects of a namespace and sets the status of its quotas. */
  recount(namespace: string): Promise<void> {
    if (this.#quotas(namespace).length === 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#account(namespace).recounts.push({ resolve, reject });
      this.#run(namespace);
    });
  }

  #account(namespace: string): Account {
    let account = this.#accounts.get(namespace);
    if (!account) {
      account = { claims: [], recounts: [], reserved: new Set(), doubtful: false, running: false };
      this.#accounts.set(namespace, account);
    }
    return account;
  }

  #quotas(namespace: string): readonly Entry[] {
    const quotas = this.registry.view.collection('core/resourcequotas');
    if (quotas.size === 0) return [];
    return quotas.select(new Filter(namespace, undefined, undefined, undefined)).entries;
  }

  #run(namespace: string): void {
    const account = this.#account(namespace);
    if (account.running) return;
    account.running = true;
    queueMicrotask(async () => {
      while (account.claims.length || account.recounts.length) {
        const lock = this.registry.store.locks && (await this.#enter(namespace, account));
        if (this.registry.store.locks && !lock) continue;
        await this.#recountFor(namespace, account, account.recounts.splice(0), lock);
        await this.#decide(namespace, account, account.claims.splice(0), lock);
        lock?.leave();
      }
      account.running = false;
      if (account.reserved.size === 0 && !account.doubtful) this.#accounts.delete(namespace);
    });
  }

  /** Takes the lock; refuses the waiting writes when it cannot be had. */
  async #enter(namespace: string, account: Account): Promise<Lock | undefined> {
    try {
      return await this.registry.enter(`quota/${namespace}`);
    } catch (error) {
      for (const { reject } of account.claims.splice(0)) reject(error as Error);
      for (const { reject } of account.recounts.splice(0)) reject(error as Error);
      return undefined;
    }
  }

  // Claims

  async #decide(
    namespace: string,
    account: Account,
    claims: readonly Claim[],
    lock: Lock | undefined,
  ): Promise<void> {
    if (claims.length === 0) return;
    try {
      for (let round = 1; round <= roundsMax; round++) {
        const quotas = this.#open(namespace);
        const verdicts = claims.map((claim) => this.#verdict(quotas, claim.admission));
        if (!(await this.#save(quotas, lock))) continue;
        for (const [i, claim] of claims.entries())
          this.#settle(namespace, account, claim, verdicts[i]!, lock);
        return;
      }
      throw internal('resource quota evaluation timed out');
    } catch (error) {
      for (const claim of claims) claim.reject(error as Error);
    }
  }

  #open(namespace: string): OpenQuota[] {
    return this.#quotas(namespace).map((entry) => {
      const object = entry.object() as ResourceQuota;
      return { entry, object, used: object.status?.used ?? {} };
    });
  }

  /** Decides one write; the accounts already include the writes before it. */
  #verdict(quotas: readonly OpenQuota[], admission: Admission): Demands | StatusError {
    const demands: Demands = new Map();
    for (const quota of quotas) {
      const demand = this.#demand(quota, admission);
      if (demand instanceof Error) return demand;
      if (demand) demands.set(quota.entry.name, demand);
    }
    if (!admission.request.dryRun)
      for (const quota of quotas) {
        const demand = demands.get(quota.entry.name);
        if (demand) quota.used = addLists(quota.used, demand);
      }
    return demands;
  }

  /**
   * What a write requests of one quota; undefined when the quota does not apply; an error when it exceeds the quota.
   */
  #demand(
    quota: OpenQuota,
    { target: { kind, name }, object, old, operation }: Admission,
  ): ResourceList | StatusError | undefined {
    const hard = quota.object.status?.hard ?? {};
    const nowMs = this.registry.sources.nowMs();
    const facts = quotaFacts(kind.storage, object!);
    if (!quotaCovers(quota.object, facts)) return undefined;
    const usage = usageAt(facts, nowMs);
    const limited = Object.keys(hard)
      .filter(
        (resource) => Object.hasOwn(usage, resource) || (kind.id === 'core/pods' && isPodResource(resource)),
      )
      .sort();
    if (limited.length === 0) return undefined;
    if (kind.id === 'core/pods' && operation === 'create') {
      const missing = unspecified(object as Pod, limited);
      if (missing.length)
        return forbidden(kind, name, `failed quota: ${quota.entry.name}: must specify ${missing.join('; ')}`);
    }
    const before = old && quotaFacts(kind.storage, old);
    const counted = before && quotaCovers(quota.object, before) ? usageAt(before, nowMs) : {};
    const demand = increase(limited, usage, counted);
    const names = Object.keys(demand);
    if (names.length === 0) return undefined;
    const unknown = names.filter((resource) => quota.used[resource] === undefined);
    if (unknown.length)
      return forbidden(
        kind,
        name,
        `status unknown for quota: ${quota.entry.name}, resources: ${unknown.join(',')}`,
      );
    const exceeded = names.filter((resource) =>
      exceeds(quota.used[resource]!, demand[resource]!, hard[resource]!),
    );
    if (exceeded.length === 0) return demand;
    const shown = (list: ResourceList): string =>
      exceeded.map((resource) => `${resource}=${list[resource]}`).join(',');
    return forbidden(
      kind,
      name,
      `exceeded quota: ${quota.entry.name}, requested: ${shown(demand)}, used: ${shown(quota.used)}, limited: ${shown(hard)}`,
    );
  }

  /** Stores the accounts that have changed; false when another writer changed a quota first. */
  async #save(quotas: readonly OpenQuota[], lock: Lock | undefined): Promise<boolean> {
    for (const { entry, object, used } of quotas) {
      if (used === object.status?.used || semanticEqual(used, object.status?.used)) continue;
      const changed = { ...object, status: { ...object.status, used } } as ResourceQuota;
      if (!(await this.#store(actingAs('kube-apiserver', 'update'), entry, changed, lock))) return false;
    }
    return true;
  }

  /** Stores the status of a quota; false when another writer changed the quota first. */
  async #store(
    request: Request,
    entry: Entry,
    changed: ResourceQuota,
    lock: Lock | undefined,
  ): Promise<boolean> {
    const value = this.registry.encode(request, targetOf(entry, 'status'), changed, entry);
    if (entry.holds(value)) return true;
    const locks = lock && [lock];
    return (await this.registry.commit(request, entry, value, entry.revision, locks)) !== undefined;
  }

  #settle(
    namespace: string,
    account: Account,
    { admission, resolve, reject }: Claim,
    verdict: Demands | StatusError,
    lock: Lock | undefined,
  ): void {
    if (verdict instanceof Error) return reject(verdict);
    if (verdict.size && !admission.request.dryRun) {
      account.reserved.add(verdict);
      holdLock(admission, lock?.share());
      admission.afterwards.push((stored) => {
        account.reserved.delete(verdict);
        if (!stored) account.doubtful = true;
        if (account.doubtful && account.reserved.size === 0) {
          account.doubtful = false;
          this.onDoubt(namespace);
        }
      });
    }
    resolve();
  }

  // Recounts

  async #recountFor(
    namespace: string,
    account: Account,
    waiting: readonly Waiting[],
    lock: Lock | undefined,
  ): Promise<void> {
    if (waiting.length === 0) return;
    try {
      await this.#recount(namespace, account, lock);
      for (const { resolve } of waiting) resolve();
    } catch (error) {
      for (const { reject } of waiting) reject(error as Error);
    }
  }

  async #recount(namespace: string, account: Account, lock: Lock | undefined): Promise<void> {
    for (let round = 1; round <= roundsMax; round++) {
      if (account.reserved.size) account.doubtful = true;
      const quotas = this.#quotas(namespace).map((entry) => ({
        entry,
        object: entry.object() as ResourceQuota,
      }));
      // One state of everything: while its objects are read, those that are reserved are stored.
      const reserved = [...account.reserved];
      const found = this.#objectsIn(namespace);
      const counted = await givenInSlices(
        this.#count(
          found,
          quotas.map(({ object }) => object),
        ),
      );
      let lost = false;
      for (const [i, { entry, object }] of quotas.entries()) {
        const hard = object.spec?.hard ?? {};
        let used = counted[i]!;
        for (const demands of reserved) used = addLists(used, demands.get(entry.name) ?? {});
        const status = { hard, used: only(Object.keys(hard), used) };
        if (semanticEqual(status, { hard: object.status?.hard, used: object.status?.used })) continue;
        const changed = { ...object, status } as ResourceQuota;
        lost ||= !(await this.#store(actingAs('resourcequota-controller', 'update'), entry, changed, lock));
      }
      if (!lost) return;
    }
  }

  #objectsIn(namespace: string): { kind: Kind; entries: readonly Entry[] }[] {
    const filter = new Filter(namespace, undefined, undefined, undefined);
    return [...this.registry.kinds.stored()]
      .filter(({ namespaced }) => namespaced)
      .map((kind) => ({ kind, entries: this.registry.view.collection(kind).select(filter).entries }));
  }

  /** What objects of one namespace use of each of its quotas. Tenants may have many, and long ones. */
  *#count(
    found: readonly { kind: Kind; entries: readonly Entry[] }[],
    quotas: readonly ResourceQuota[],
  ): Generator<number, ResourceList[]> {
    const nowMs = this.registry.sources.nowMs();
    const totals = quotas.map((): ResourceList => ({}));
    const add = (quota: ResourceQuota, at: number, usage: ResourceList): void => {
      totals[at] = addLists(totals[at]!, only(Object.keys(quota.spec?.hard ?? {}), usage, false));
    };
    for (const { kind, entries } of found) {
      if (isOnlyCounted(kind)) {
        const usage = timesOf(countedUsage(kind), entries.length);
        for (const [at, quota] of quotas.entries())
          if (entries.length && quotaCovers(quota, { scopes: undefined })) add(quota, at, usage);
        continue;
      }
      for (const entry of entries) {
        yield factsOf.has(entry) ? knownSteps : entry.length * byteSteps;
        const facts = factsOf.of(entry);
        for (const [at, quota] of quotas.entries())
          if (quotaCovers(quota, facts)) add(quota, at, usageAt(facts, nowMs));
      }
    }
    return totals;
  }
}

const timesOf = (usage: ResourceList, count: number): ResourceList =>
  Object.fromEntries(Object.keys(usage).map((name) => [name, String(count)]));

const isPodResource = (resource: string): boolean =>
  /^((requests\.|limits\.)?(cpu|memory|ephemeral-storage)|pods)$/.test(resource);

/** The named resources of a list; missing ones are 0, or left out. */
function only(names: readonly string[], list: ResourceList, fill = true): ResourceList {
  const out: ResourceList = {};
  for (const name of names) if (list[name] !== undefined || fill) out[name] = list[name] ?? '0';
  return out;
}

/** By how much a write raises each of some resources; resources that it does not raise are left out. */
function increase(names: readonly string[], usage: ResourceList, before: ResourceList): ResourceList {
  const out: ResourceList = {};
  for (const name of names) {
    if (usage[name] === undefined) continue;
    const delta = subtractQuantities(parseQuantity(usage[name]), parseQuantity(before[name] ?? '0'));
    if (sign(delta) > 0) out[name] = before[name] === undefined ? usage[name] : formatQuantity(delta);
  }
  return out;
}

const exceeds = (used: string, demand: string, hard: string): boolean =>
  compareQuantities(parseQuantity(addLists({ sum: used }, { sum: demand }).sum!), parseQuantity(hard)) > 0;
