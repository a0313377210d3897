/** The expressions of an admission policy, compiled: what each may use, and what is wrong with it. */
import { admissionEnvironment, type CheckedExpression, compileFor } from '../../cel/admission.ts';
import type { Environment } from '../../cel/checker.ts';
import { dyn, type Type } from '../../cel/values/types.ts';
import type { MatchCondition, MatchResources, ParamKind, Variable } from '../../generated/types.ts';

/** What policies of both kinds have. */
export interface PolicySpec {
  paramKind?: ParamKind;
  matchConstraints?: MatchResources;
  matchConditions?: MatchCondition[];
  variables?: Variable[];
  failurePolicy?: string;
}

const identifier = /^[A-Za-z_][A-Za-z0-9_]*$/;
const keywords = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

export const isIdentifier = (name: string): boolean => identifier.test(name) && !keywords.has(name);

export class PolicyScope {
  /** In the order of the policy, also those that do not compile. */
  readonly variables: readonly { readonly name: string; readonly checked: CheckedExpression }[];
  readonly #conditions: Environment;
  readonly #expressions: Environment;
  readonly #messages: Environment;

  /** @param mutation whether expressions may make objects and patches */
  constructor({ paramKind, variables = [] }: PolicySpec, mutation: boolean) {
    const params = paramKind !== undefined;
    const types = new Map<string, Type>();
    const base = { params, namespaceObject: true, variables: types };
    this.#conditions = admissionEnvironment({ params, namespaceObject: true });
    this.#expressions = admissionEnvironment({ ...base, mutation });
    // Messages may not ask the authorizer.
    this.#messages = admissionEnvironment({ ...base, authorizer: false });
    // Later variables may use earlier ones: the environments see the types that are added here.
    this.variables = variables.map(({ name = '', expression = '' }) => {
      const checked = compileFor(expression, this.#expressions);
      if (isIdentifier(name)) types.set(name, checked.program?.type ?? dyn);
      return { name, checked };
    });
  }

  condition(text: string): CheckedExpression {
    return compileFor(text, this.#conditions, ['bool']);
  }

  /** @param wanted names of the types that it may give */
  expression(text: string, wanted: readonly string[]): CheckedExpression {
    return compileFor(text, this.#expressions, wanted);
  }

  message(text: string): CheckedExpression {
    return compileFor(text, this.#messages, ['string']);
  }
}
