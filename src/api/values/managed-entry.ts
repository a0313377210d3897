/** Entries of `metadata.managedFields`: each says which fields a manager owns by one operation, through one path. */

import type { ManagedFieldsEntry } from '../generated/types.ts';
import { type FieldSet, readFieldSet } from './field-set.ts';

/** An entry that can be read. */
export interface Managed extends ManagedFieldsEntry {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly time?: string;
  readonly fieldsType: 'FieldsV1';
  readonly fieldsV1: FieldSet;
  readonly subresource?: string;
}

/** A writer, and the path it writes through. */
export interface Manager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  /** The subresource; '' for the object itself. */
  readonly subresource: string;
}

/** Times and subresources that are empty are left out. */
export function entryOf(
  { manager, operation, apiVersion, subresource }: Omit<Manager, 'subresource'> & { subresource?: string },
  fieldsV1: FieldSet,
  time: string | undefined,
): Managed {
  const entry: { -readonly [Name in keyof Managed]: Managed[Name] } = {
    manager,
    operation,
    apiVersion,
    fieldsType: 'FieldsV1',
    fieldsV1,
  };
  if (time) entry.time = time;
  if (subresource) entry.subresource = subresource;
  return entry;
}

/**
 * The entries of a list; undefined when one of them cannot be read. Of entries of the same identity, the last counts.
 */
export function readManaged(list: readonly ManagedFieldsEntry[]): Managed[] | undefined {
  const entries = new Map<string, Managed>();
  for (const { manager = '', operation, apiVersion, time, fieldsType, fieldsV1, subresource } of list) {
    const set = readFieldSet(fieldsV1);
    if ((operation !== 'Apply' && operation !== 'Update') || !apiVersion || fieldsType !== 'FieldsV1' || !set)
      return undefined;
    const who = { manager, operation, apiVersion, subresource: subresource ?? '' } as const;
    entries.set(identity(who), entryOf(who, set, time));
  }
  return [...entries.values()];
}

/** The same text means the same manager: an applier has one entry, whatever the version of its last apply was. */
export const identity = (of: {
  manager: string;
  operation: string;
  apiVersion: string;
  subresource?: string | undefined;
}): string =>
  JSON.stringify({
    manager: of.manager,
    operation: of.operation,
    ...(of.operation === 'Apply' ? {} : { apiVersion: of.apiVersion }),
    ...(of.subresource ? { subresource: of.subresource } : {}),
  });
