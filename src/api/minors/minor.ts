/** A minor of Kubernetes from 1.22 to 1.36: what it serves, and how kinds look in it. */

import { changesOf } from '../kind/change.ts';
import type { ChosenMinor, MinorResource } from '../kind/chosen-minor.ts';
import type { Kind, Verb } from '../kind/kind.ts';
import { status } from '../kind/subresource.ts';
import type { ApiObject, JsonObject } from '../text/object.ts';
import { type Difference, differenceOf } from './differences.ts';
import { formerKinds } from './former-kinds.ts';
import { keepUnseen } from './kept-fields.ts';
import { columnsIn } from './minor-columns.ts';
import { gateProblem, gateState, isOnByDefault } from './minor-gates.ts';
import { MinorModels } from './minor-models.ts';
import { holds, inForce, type ResourceRow, versionTables } from './version-tables.ts';

const { groupVersions, minors } = versionTables;
const numbers = Object.keys(minors).map((name) => Number(name.split('.')[1]));
export const firstMinor = Math.min(...numbers);
export const lastMinor = Math.max(...numbers);

/** `1.29`, `v1.29` or `1.29.4`; undefined: no such minor is served. */
function parseMinor(text: string): { readonly number: number; readonly patch: number } | undefined {
  const [, minor, patch = '0'] = /^v?1\.(\d{1,3})(?:\.(\d{1,4}))?$/.exec(text) ?? [];
  const number = Number(minor);
  return number >= firstMinor && number <= lastMinor ? { number, patch: Number(patch) } : undefined;
}

/** What is wrong with the name of a minor, or with its gates; undefined: nothing. */
export const minorProblem = (
  text: string,
  gates: Readonly<Record<string, boolean>> = {},
): string | undefined =>
  parseMinor(text)
    ? gateProblem(gates, parseMinor(text)!.number)
    : `Kubernetes must be a version from 1.${firstMinor} to 1.${lastMinor}, not ${JSON.stringify(text)}`;

export class Minor implements ChosenMinor {
  readonly number: number;
  readonly release: string;
  readonly models: MinorModels;
  readonly #shown = new Map<Kind, Kind>();

  /**
   * @param text one that `minorProblem` accepts
   * @param gates what the user says of feature gates
   */
  constructor(
    text: string,
    private readonly gates: Readonly<Record<string, boolean>> = {},
  ) {
    const { number, patch } = parseMinor(text)!;
    this.number = number;
    this.release = `v1.${number}.${patch}+wherry`;
    this.models = new MinorModels(number, (gate) => this.#said(gate));
  }

  isAtLeast(minor: number): boolean {
    return this.number >= minor;
  }

  /** What the user says of a gate, by its name or by that of its stage. */
  #said(gate: string): boolean | undefined {
    const state = gateState(gate, this.number);
    if (!state) return undefined;
    if (state.isLocked) return state.isOn;
    const all = state.stage === 'alpha' ? 'AllAlpha' : state.stage === 'beta' ? 'AllBeta' : undefined;
    return this.gates[gate] ?? (all === undefined ? undefined : this.gates[all]);
  }

  isOn(gate: string): boolean {
    return this.#said(gate) ?? isOnByDefault(gate, this.number);
  }

  /** The row of a resource, served by default or not; undefined: this minor does not have it. */
  row(apiVersion: string, resource: string): ResourceRow | undefined {
    const row = this.hasVersion(apiVersion) ? groupVersions[apiVersion]!.resources[resource] : undefined;
    return row && holds(row, this.number) ? row : undefined;
  }

  /** Every resource of this minor, on by default or not. */
  *rows(): Iterable<{ readonly apiVersion: string; readonly resource: string; readonly row: ResourceRow }> {
    for (const [apiVersion, { resources }] of Object.entries(groupVersions))
      for (const resource of Object.keys(resources)) {
        const row = this.row(apiVersion, resource);
        if (row) yield { apiVersion, resource, row };
      }
  }

  /** Kinds beside the built-in ones: versions that have gone since, and those that were never on by default. */
  kinds(): Kind[] {
    return formerKinds(this);
  }

  /** Whether a resource, or any of a version, is served; `said` is what the user says of it. */
  serves(
    apiVersion: string,
    resource: string | undefined,
    said: (resource: string) => boolean | undefined,
  ): boolean {
    if (resource === undefined)
      return Object.keys(groupVersions[apiVersion]?.resources ?? {}).some((one) =>
        this.serves(apiVersion, one, said),
      );
    const row = this.row(apiVersion, resource);
    if (!row || (row.gate !== undefined && !this.isOn(row.gate))) return false;
    return said(resource) ?? row.default;
  }

  hasVersion(apiVersion: string): boolean {
    const version = groupVersions[apiVersion];
    return version !== undefined && holds(version, this.number);
  }

  priority(apiVersion: string): { readonly group: number; readonly version: number } | undefined {
    if (!this.hasVersion(apiVersion)) return undefined;
    const priority = inForce(groupVersions[apiVersion]!.priority, this.number);
    return priority && { group: priority[0]!, version: priority[1]! };
  }

  resource(apiVersion: string, name: string): MinorResource | undefined {
    const [resource, part] = name.split('/') as [string, string?];
    const row = this.row(apiVersion, resource);
    if (!row) return undefined;
    const sub = part === undefined ? undefined : row.subresources?.[part];
    if (
      part !== undefined &&
      !(sub && holds(sub, this.number) && (sub.gate === undefined || this.isOn(sub.gate)))
    )
      return undefined;
    return {
      kind: sub?.kind ?? row.kind,
      verbs: (inForce(sub?.verbs ?? row.verbs, this.number) ?? []) as readonly Verb[],
      // Built-in resources have had one since 1.27.
      singularName: sub || this.number < 27 ? '' : row.singular,
      shortNames: sub ? [] : (row.short ?? []),
      categories: sub ? [] : (row.categories ?? []),
      stored: inForce(row.stored, this.number),
    };
  }

  shown(kind: Kind): Kind {
    let shown = this.#shown.get(kind);
    if (!shown) {
      shown = kind.custom || !this.row(kind.apiVersion, kind.resource) ? kind : this.#show(kind);
      this.#shown.set(kind, shown).set(shown, shown);
    }
    return shown;
  }

  #show(kind: Kind): Kind {
    const { apiVersion, resource } = kind;
    const described = this.resource(apiVersion, resource)!;
    const model = this.models.of(kind.kind, kind.model.file);
    const has = (name: string): boolean => this.resource(apiVersion, `${resource}/${name}`) !== undefined;
    const subresources = kind.subresources.filter(({ name }) => has(name));
    const addsStatus = !kind.hasStatus && has('status');
    if (addsStatus) subresources.push(status());
    const columns = columnsIn(this.number, kind);
    const difference = differenceOf(kind, this);
    const other: Partial<Kind> = {
      verbs: kind.verbs.filter((verb) => described.verbs.includes(verb)),
      subresources,
      ...(addsStatus ? { hasStatus: true } : {}),
      ...rulesOf(kind, subresources, this.number, difference),
      ...deprecationOf(apiVersion, this.row(apiVersion, resource)!, this.number),
      ...columns,
    };
    const isSame =
      model === kind.model &&
      !difference &&
      (!kind.warnings || this.number >= lastWarning) &&
      (Object.keys(other) as (keyof Kind)[]).every(
        (name) => JSON.stringify(other[name]) === JSON.stringify(kind[name]),
      );
    if (isSame) return kind;
    const shown = Object.defineProperties({}, Object.getOwnPropertyDescriptors(kind)) as Kind;
    for (const [name, value] of Object.entries({
      ...other,
      model,
      ...(model === kind.model && !difference ? {} : seen(kind, model, difference)),
    }))
      Object.defineProperty(shown, name, { value, enumerable: true, writable: true, configurable: true });
    return shown;
  }
}

/** Objects are stored whole, and converted to what this minor knows. */
const seen = (kind: Kind, model: Kind['model'], difference: Difference = {}): Partial<Kind> => ({
  storage: kind.storage,
  stored: {
    kind: kind.storage,
    toStored(object: ApiObject, old: ApiObject | undefined): ApiObject {
      difference.take?.(object, old);
      const before = old && (kind.stored ? kind.stored.fromStored(structuredClone(old)) : old);
      if (before)
        keepUnseen(model, kind.model, object as unknown as JsonObject, before as unknown as JsonObject);
      return kind.stored ? kind.stored.toStored(object, old) : object;
    },
    fromStored(object) {
      const shown = { ...(kind.stored ? kind.stored.fromStored(object) : object) };
      difference.show?.(shown);
      return shown;
    },
  },
});

/** The rules of a kind, with those that only this minor has. */
function rulesOf(
  kind: Kind,
  subresources: Kind['subresources'],
  minor: number,
  { errors, settle }: Difference = {},
): Partial<Kind> {
  const validate: Kind['validate'] = errors
    ? (object, old) => [...(kind.validate?.(object, old) ?? []), ...errors(object, old)]
    : kind.validate;
  const warnings: Kind['warnings'] =
    kind.warnings && ((object, old) => kind.warnings!(object, old).filter((text) => isSaid(text, minor)));
  const defaults: Kind['defaults'] = settle
    ? (object) => {
        settle(object);
        kind.defaults?.(object);
      }
    : kind.defaults;
  return {
    defaults,
    validate,
    warnings,
    changes: changesOf({ ...hooksOf(kind), validate, warnings }, subresources),
  };
}

/** From this minor on, all warnings of kinds are those of today. */
const lastWarning = 35;
/** A warning that came in a minor, which it does not name. */
const preferClose = '"PreferClose" is deprecated';

/** Whether a minor warns so: not of what was deprecated later. */
function isSaid(text: string, minor: number): boolean {
  if (text.includes(preferClose)) return minor >= lastWarning;
  const [, since] = /(?:deprecated since|deprecated in|non-functional in) v1\.(\d+)/.exec(text) ?? [];
  return since === undefined || Number(since) <= minor;
}

/** Without the model, which is looked up when it is first read. */
const hooksOf = ({ resets, prepareForUpdate, examine, preparation, validateUpdate }: Kind) => ({
  resets,
  prepareForUpdate,
  examine,
  preparation,
  validateUpdate,
});

/** The text of the warning that every answer has, from the minor on in which the resource is deprecated. */
function deprecationOf(apiVersion: string, row: ResourceRow, minor: number): Partial<Kind> {
  const deprecated = inForce(row.deprecated, minor);
  if (deprecated === undefined || Number(deprecated.split('.')[1]) > minor) return { deprecation: undefined };
  const removed = inForce(row.removed, minor);
  const replacement = inForce(row.replacement, minor);
  return {
    deprecation: `${apiVersion} ${row.kind} is deprecated in v${deprecated}+${
      removed === undefined ? '' : `, unavailable in v${removed}+`
    }${replacement === undefined ? '' : `; use ${replacement.includes(' ') ? replacement : `${replacement} ${row.kind}`}`}`,
  };
}
