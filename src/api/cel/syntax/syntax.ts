/** The syntax tree of an expression. Macros are nodes of their own; the checker fills in types and overloads. */
import type { Overload } from '../values/functions.ts';
import type { Type } from '../values/types.ts';
import type { Value } from '../values/values.ts';

interface Position {
  /** Where errors about the node point, in UTF-16 units. */
  readonly at: number;
  /** Nodes on the longest way down, for the bound on recursion. */
  readonly height: number;
  /** Set by the checker. */
  type?: Type;
}

interface Literal extends Position {
  readonly kind: 'literal';
  readonly value: Value;
  readonly literalType: Type;
}
export interface Identifier extends Position {
  readonly kind: 'identifier';
  readonly name: string;
  /** Set by the checker: the name of a type such as `int`. */
  typeName?: string;
}
export interface Select extends Position {
  readonly kind: 'select';
  readonly operand: Node;
  readonly field: string;
  /** `has(operand.field)`. */
  readonly test: boolean;
  /** Set by the checker when the whole chain is the name of a variable or type: `authorizer.requestResource`. */
  qualified?: Identifier;
}
export interface Call extends Position {
  readonly kind: 'call';
  readonly name: string;
  readonly target: Node | undefined;
  readonly args: readonly Node[];
  /** Set by the checker: the overloads that may be meant, and the arguments with the target, unless it is a namespace. */
  overloads?: readonly Overload[];
  operands?: readonly Node[];
}
/** `a && b && c`: all terms in one node, so that long chains are not deep. */
export interface Logic extends Position {
  readonly kind: 'logic';
  readonly operator: '&&' | '||';
  readonly terms: readonly Node[];
}
export interface ListNode extends Position {
  readonly kind: 'list';
  readonly elements: readonly { readonly value: Node; readonly optional: boolean }[];
}
export interface MapNode extends Position {
  readonly kind: 'map';
  readonly entries: readonly { readonly key: Node; readonly value: Node; readonly optional: boolean }[];
}
export interface StructNode extends Position {
  readonly kind: 'struct';
  readonly name: string;
  readonly fields: readonly {
    readonly name: string;
    readonly value: Node;
    readonly optional: boolean;
    readonly at: number;
  }[];
}
export type MacroName =
  | 'all'
  | 'exists'
  | 'existsOne'
  | 'filter'
  | 'map'
  | 'transformList'
  | 'transformMap'
  | 'transformMapEntry'
  | 'sortBy'
  | 'optMap'
  | 'optFlatMap';
export interface Macro extends Position {
  readonly kind: 'macro';
  readonly name: MacroName;
  readonly range: Node;
  /** One or two; the second is the value (maps) or element (lists) with the first as key or index. */
  readonly variables: readonly string[];
  readonly condition: Node | undefined;
  readonly body: Node | undefined;
}

export type Node = Literal | Identifier | Select | Call | Logic | ListNode | MapNode | StructNode | Macro;
