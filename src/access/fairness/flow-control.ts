/**
 * Flow control: assigns every request to a flow, by the first flow schema that matches; the priority level of the
 * schema decides when it may go on. Stored schemas and levels are read again when they have changed, not per request.
 */

import type { FlowSchema, PriorityLevelConfiguration } from '../../api/generated/types.ts';
import type { Action } from '../../api/kind/access.ts';
import { fixedLevels, fixedSchemas } from '../../api/rules/access/flow-defaults.ts';
import type { User } from '../../api/values/user.ts';
import { composedKey } from '../../composed-key.ts';
import { Memo } from '../../memo.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { everything } from '../../registry/view/filter.ts';
import { schemaTest } from './flow-matching.ts';
import { type LevelSettings, PriorityLevel } from './priority-level.ts';

const group = 'flowcontrol.apiserver.k8s.io';

/** The flow of a request. */
export interface Flow {
  readonly schemaUid: string;
  readonly level: PriorityLevel;
  /** Requests with the same text share queues. */
  readonly id: string;
}

interface Schema {
  readonly name: string;
  readonly uid: string;
  readonly method: string | undefined;
  readonly level: PriorityLevel;
  readonly test: ReturnType<typeof schemaTest>;
}

/** A schema that matches some actions of a user. */
interface Candidate {
  readonly schema: Schema;
  readonly matches: (action: Action) => boolean;
  /** The flow of these actions; undefined when it depends on the namespace. */
  readonly flow: Flow | undefined;
}

export class FlowControl {
  /** The schemas that are about a user, in their order. */
  #candidates = new Memo((user: User) => this.#candidatesOf(user));
  #schemas: readonly Schema[] = [];
  /** The schema `catch-all`, for requests that no schema matches: those of users without groups. */
  #catchAll: Schema | undefined;
  #levels = new Map<string, PriorityLevel>();
  /** How far the changes of the two collections have been read. */
  #schemasRead = -1;
  #levelsRead = -1;

  constructor(
    private readonly registry: Registry,
    private readonly settings: LevelSettings,
  ) {}

  flowOf(user: User, action: Action): Flow {
    this.#catchUp();
    for (const { schema, matches, flow } of this.#candidates.of(user))
      if (matches(action)) return flow ?? flowIn(schema, action.resource?.namespace ?? '');
    return flowIn(this.#catchAll!, toldBy(this.#catchAll!, user) ?? action.resource?.namespace ?? '');
  }

  #candidatesOf(user: User): Candidate[] {
    return this.#schemas.flatMap((schema) => {
      const matches = schema.test(user);
      if (!matches) return [];
      const told = toldBy(schema, user);
      return [{ schema, matches, flow: told === undefined ? undefined : flowIn(schema, told) }];
    });
  }

  get levels(): Iterable<PriorityLevel> {
    return this.#levels.values();
  }

  #catchUp(): void {
    const { view } = this.registry;
    const schemas = view.collection(`${group}/flowschemas`);
    const levels = view.collection(`${group}/prioritylevelconfigurations`);
    if (schemas.endNumber === this.#schemasRead && levels.endNumber === this.#levelsRead) return;
    this.#schemasRead = schemas.endNumber;
    this.#levelsRead = levels.endNumber;
    this.#readLevels(levels.select(everything).entries);
    this.#readSchemas(schemas.select(everything).entries);
  }

  /** Reads the levels. Existing levels keep their requests; a removed one lets waiting requests go on or time out. */
  #readLevels(entries: readonly Entry[]): void {
    const stored = entries.map((entry) => entry.peek() as PriorityLevelConfiguration);
    const all = withFixed(stored, fixedLevels);
    const sharesAll = all.reduce(
      (sum, { spec }) => sum + ((spec?.limited ?? spec?.exempt)?.nominalConcurrencyShares ?? 0),
      0,
    );
    const levels = new Map<string, PriorityLevel>();
    for (const configuration of all) {
      const name = configuration.metadata.name!;
      const level =
        this.#levels.get(name) ??
        new PriorityLevel(configuration, this.settings, (borrower) => this.#lent(borrower));
      levels.set(name, level);
    }
    this.#levels = levels;
    for (const configuration of all)
      levels.get(configuration.metadata.name!)!.configure(configuration, sharesAll);
  }

  #readSchemas(entries: readonly Entry[]): void {
    const stored = entries.map((entry) => entry.peek() as FlowSchema);
    this.#schemas = withFixed(stored, fixedSchemas)
      .sort((a, b) => precedence(a) - precedence(b) || (a.metadata.name! < b.metadata.name! ? -1 : 1))
      .flatMap((schema) => {
        const level = this.#levels.get(schema.spec?.priorityLevelConfiguration?.name ?? '');
        // A schema whose level is missing is not used.
        if (!level) return [];
        const { name, uid = '' } = schema.metadata;
        const method = schema.spec?.distinguisherMethod?.type;
        return [{ name: name!, uid, method, level, test: schemaTest(schema) }];
      });
    this.#candidates = new Memo((user: User) => this.#candidatesOf(user));
    this.#catchAll = this.#schemas.find(({ name }) => name === 'catch-all');
  }

  #lent(borrower: PriorityLevel): number {
    let seats = 0;
    for (const level of this.#levels.values())
      seats += (level === borrower ? 0 : level.lendable) - level.borrowed;
    return seats;
  }
}

const precedence = ({ spec }: FlowSchema): number => spec?.matchingPrecedence ?? 0;

/** The value that distinguishes the flows of a schema; undefined when it is the namespace. */
function toldBy({ method }: Schema, user: User): string | undefined {
  if (method === 'ByNamespace') return undefined;
  return method === 'ByUser' ? user.name : '';
}

const flowIn = ({ name, uid, level }: Schema, told: string): Flow => ({
  schemaUid: uid,
  level,
  id: composedKey(name, told),
});

/** Adds the two mandatory objects of each kind, even when they are not stored. */
function withFixed<T extends FlowSchema | PriorityLevelConfiguration>(
  stored: readonly T[],
  fixed: ReadonlyMap<string, T['spec']>,
): T[] {
  const missing = [...fixed].filter(([name]) => !stored.some(({ metadata }) => metadata.name === name));
  return [...stored, ...missing.map(([name, spec]) => ({ metadata: { name }, spec }) as T)];
}
