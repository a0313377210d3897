/** The sets of functions that expressions in different places may use. */

import {
  dearer,
  define,
  type FunctionTable,
  functionTable,
  type Overload,
  walkFirst,
} from '../values/functions.ts';
import { authorizerLibrary } from './authorizers.ts';
import { listLibrary } from './lists.ts';
import { namedFormatLibrary } from './named-formats.ts';
import { addressLibrary, urlLibrary } from './networks.ts';
import { optionalLibrary } from './optionals.ts';
import { quantityLibrary, semverLibrary } from './quantities.ts';
import { standardLibrary } from './standard.ts';
import { stringLibrary } from './strings.ts';
import { timeLibrary } from './times.ts';

/** How much dearer calls are than cel-go counts them was measured: a step is to take no more than some 30 ns. */
const common = (): readonly Overload[] => [
  ...standardLibrary(),
  ...dearer(timeLibrary(), 30),
  ...stringLibrary(),
  ...listLibrary(),
  ...optionalLibrary(),
  ...dearer(quantityLibrary(), 40),
  ...dearer(semverLibrary(), 40),
  ...dearer(addressLibrary(), 100),
  ...dearer(urlLibrary(), 60),
  ...dearer(namedFormatLibrary(), 25),
];

/** A key as a segment of a JSON pointer. */
const jsonPatchLibrary = (): readonly Overload[] => [
  define(
    'jsonpatch.escapeKey(string): string',
    (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1'),
    { cost: walkFirst },
  ),
];

/** Tables are made when the first expression is compiled: a server without any does not need them. */
function lazily(make: () => FunctionTable): () => FunctionTable {
  let table: FunctionTable | undefined;
  return () => {
    table ??= make();
    return table;
  };
}

/** Rules of schemas. */
export const ruleFunctions = lazily(() => functionTable(common()));
/** Admission: policies and conditions of webhooks. */
export const admissionFunctions = lazily(() => functionTable(common(), authorizerLibrary()));
/** Policies that change objects. */
export const mutationFunctions = lazily(() =>
  functionTable(common(), authorizerLibrary(), jsonPatchLibrary()),
);
