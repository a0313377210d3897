/**
 * Expressions over the claims of a token and over the user made from them. An operator writes them; tokens are their
 * input.
 */
import { compileClaims, compileUserRule } from '../../api/cel/access.ts';
import type { CheckedExpression } from '../../api/cel/admission.ts';
import type { Program } from '../../api/cel/cel.ts';
import { callCostMax, expressionFailure } from '../../api/cel/conditions.ts';
import { anyJson, toJson } from '../../api/cel/json-values.ts';
import { Budget } from '../../api/cel/values/budget.ts';
import type { User } from '../../api/values/user.ts';
import { CredentialError } from './token-authenticator.ts';

type Claims = Readonly<Record<string, unknown>>;

/** An expression with one or several texts as result. */
export class ClaimExpression {
  readonly #program: Program;

  /** Compiles; throws when the text is not an expression over claims. */
  constructor(readonly text: string) {
    this.#program = programOf(compileClaims(text));
  }

  /** Evaluates to one text. @param what for messages: `username`. */
  textOf(claims: Claims, what: string): string {
    const value = this.#run(claims, what);
    if (typeof value === 'string') return value;
    throw failure(`${what} claim`, `${what} claim expression must return a string`);
  }

  /** The texts of a claim that is one text or a list; null and the empty text give an empty list. */
  textsOf(claims: Claims, what: string): readonly string[] {
    const value = this.#run(claims, what);
    const texts = [value ?? []].flat();
    if (!texts.every((text) => typeof text === 'string'))
      throw failure(`${what} claim`, 'expression must return a string or a list of strings');
    return value === '' ? [] : texts;
  }

  #run(claims: Claims, what: string): unknown {
    return run(this.text, this.#program, { claims }, `${what} claim`);
  }
}

/** A rule that tokens or users must satisfy. */
export class AccessRule {
  readonly #program: Program;

  /** Compiles; throws when the text is not a boolean expression over claims or users. */
  constructor(
    private readonly about: 'claims' | 'user',
    readonly text: string,
    private readonly message: string,
  ) {
    this.#program = programOf(about === 'claims' ? compileClaims(text, 'bool') : compileUserRule(text));
  }

  checkClaims(claims: Claims): void {
    this.#check({ claims });
  }

  checkUser({ name, uid, groups, extra = {} }: User): void {
    const more = {
      ...(uid ? { uid } : {}),
      ...(groups.length ? { groups } : {}),
      ...(Object.keys(extra).length ? { extra } : {}),
    };
    this.#check({ user: { username: name, ...more } });
  }

  #check(variables: Readonly<Record<string, unknown>>): void {
    const what = this.about === 'claims' ? 'claim validation' : 'user info validation rule';
    const value = run(this.text, this.#program, variables, what);
    if (value === true) return;
    throw failure(
      what,
      value === false
        ? `validation expression '${this.text}' failed: ${this.message}`
        : 'validation expression must return a boolean',
    );
  }
}

function programOf({ program, problem }: CheckedExpression): Program {
  if (program === undefined) throw new Error(problem);
  return program;
}

const failure = (what: string, why: string): CredentialError =>
  new CredentialError(`oidc: error evaluating ${what} expression: ${why}`);

/** Evaluates under a cost limit, because claims may be large. */
function run(
  text: string,
  program: Program,
  variables: Readonly<Record<string, unknown>>,
  what: string,
): unknown {
  const values = Object.fromEntries(Object.entries(variables).map(([name, json]) => [name, anyJson(json)]));
  try {
    return toJson(program.run(values, new Budget(callCostMax)));
  } catch (error) {
    throw failure(what, expressionFailure(text, error));
  }
}
