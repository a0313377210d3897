/** Macros: calls that bind variables (`list.all(x, x > 0)`) or look at an argument without evaluating it (`has`). */
import type { Issue } from './source.ts';
import type { MacroName, Node } from './syntax.ts';

interface Form {
  readonly name: MacroName;
  readonly variables: 1 | 2;
  /** What follows the variables. */
  readonly rest: readonly ('condition' | 'body')[];
}

const condition: Form['rest'] = ['condition'];
const body: Form['rest'] = ['body'];
const both: Form['rest'] = ['condition', 'body'];

/** By name; the number of arguments tells forms of one name apart. */
const forms: Record<string, readonly Form[]> = {
  all: [
    { name: 'all', variables: 1, rest: condition },
    { name: 'all', variables: 2, rest: condition },
  ],
  exists: [
    { name: 'exists', variables: 1, rest: condition },
    { name: 'exists', variables: 2, rest: condition },
  ],
  exists_one: [{ name: 'existsOne', variables: 1, rest: condition }],
  existsOne: [
    { name: 'existsOne', variables: 1, rest: condition },
    { name: 'existsOne', variables: 2, rest: condition },
  ],
  filter: [{ name: 'filter', variables: 1, rest: condition }],
  map: [
    { name: 'map', variables: 1, rest: body },
    { name: 'map', variables: 1, rest: both },
  ],
  transformList: [
    { name: 'transformList', variables: 2, rest: body },
    { name: 'transformList', variables: 2, rest: both },
  ],
  transformMap: [
    { name: 'transformMap', variables: 2, rest: body },
    { name: 'transformMap', variables: 2, rest: both },
  ],
  transformMapEntry: [
    { name: 'transformMapEntry', variables: 2, rest: body },
    { name: 'transformMapEntry', variables: 2, rest: both },
  ],
  sortBy: [{ name: 'sortBy', variables: 1, rest: body }],
  optMap: [{ name: 'optMap', variables: 1, rest: body }],
  optFlatMap: [{ name: 'optFlatMap', variables: 1, rest: body }],
};

/** The node of `target.name(args)`, or undefined when that is no macro. Wrong arguments are added to `issues`. */
export function expandMember(
  name: string,
  target: Node,
  args: readonly Node[],
  at: number,
  issues: Issue[],
): Node | undefined {
  if (!Object.hasOwn(forms, name)) return undefined;
  const form = forms[name]?.find(({ variables, rest }) => variables + rest.length === args.length);
  if (form === undefined) return undefined;
  const variables: string[] = [];
  for (const arg of args.slice(0, form.variables)) {
    if (arg.kind !== 'identifier') issues.push({ at: arg.at, message: 'argument must be a simple name' });
    else variables.push(arg.name);
  }
  if (variables.length === 2 && variables[0] === variables[1])
    issues.push({ at: (args[1] as Node).at, message: `duplicate variable name: ${variables[0]}` });
  const part = (role: 'condition' | 'body'): Node | undefined => {
    const position = form.rest.indexOf(role);
    return position < 0 ? undefined : args[form.variables + position];
  };
  if (form.name === 'transformMapEntry') {
    const entry = part('body');
    if (entry?.kind === 'map' && entry.entries.length !== 1)
      issues.push({ at: entry.at, message: 'transformMapEntry macro requires exactly one entry' });
  }
  return {
    kind: 'macro',
    name: form.name,
    range: target,
    variables,
    condition: part('condition'),
    body: part('body'),
    at,
    height: 1 + Math.max(target.height, ...args.map(({ height }) => height)),
  };
}

/** The node of `has(a.b)`, or undefined when the call is another. */
export function expandGlobal(
  name: string,
  args: readonly Node[],
  at: number,
  issues: Issue[],
): Node | undefined {
  const [arg] = args;
  if (name !== 'has' || args.length !== 1 || arg === undefined) return undefined;
  if (arg.kind === 'select' && !arg.test) return { ...arg, test: true, at };
  issues.push({ at: arg.at, message: 'invalid argument to has() macro' });
  return arg;
}
