/**
 * MutatingAdmissionPolicy: policies that change objects, one after the other, sorted by name. Policies with
 * reinvocation run once more when a policy has changed the object; as in Kubernetes, their own changes count, too.
 */

import type { Value } from '../../api/cel/values/values.ts';
import { forbidden, StatusError } from '../../api/errors/errors.ts';
import type { MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding } from '../../api/generated/types.ts';
import type { Authorizer } from '../../api/kind/access.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { goQuoted } from '../../api/model/go-format.ts';
import { parseExact } from '../../api/text/exact-json.ts';
import type { JsonObject } from '../../api/text/object.ts';
import { composedKey } from '../../composed-key.ts';
import type { Admission, AdmissionPlugin } from '../../registry/admission-chain.ts';
import type { Registry } from '../../registry/registry.ts';
import { AskedWrite, questionOf } from '../writes/asked-write.ts';
import type { WriteQuestion } from '../writes/write-question.ts';
import { WriteValues } from '../writes/write-values.ts';
import { MutatingPolicy, MutationProblem } from './mutating-policy.ts';
import { ConfigurationProblem, paramKindOf, paramsOf } from './params.ts';
import { type PolicyBinding, policyBinding } from './policy-binding.ts';
import { type BoundPolicy, PolicyIndex } from './policy-index.ts';

/** One run of a policy: for a binding, with one of its parameters. */
interface Invocation {
  readonly policy: MutatingPolicy;
  readonly binding: PolicyBinding;
  readonly param: Value;
  readonly version: Kind;
  readonly key: string;
}

/** Why a policy could not be used, or could not change the object. */
interface Denial {
  readonly policy: MutatingPolicy;
  readonly binding: PolicyBinding | undefined;
  readonly message: string;
  readonly reason: 'Invalid' | 'Forbidden';
}

export class MutatingPolicies implements AdmissionPlugin {
  readonly name = 'MutatingAdmissionPolicy';
  readonly #registry: Registry;
  readonly #index: PolicyIndex<MutatingPolicy, PolicyBinding>;
  /** The invocations of the first round of a write. */
  readonly #invoked = new WeakMap<Admission, Set<string>>();

  constructor(
    registry: Registry,
    private readonly authorizer: Authorizer,
  ) {
    this.#registry = registry;
    this.#index = new PolicyIndex(registry.view, registry.kinds, {
      policies: 'mutatingadmissionpolicies',
      bindings: 'mutatingadmissionpolicybindings',
      readPolicy: (entry) => new MutatingPolicy(entry.peek() as MutatingAdmissionPolicy),
      readBinding: (entry) => {
        const { metadata, spec = {} } = entry.peek() as MutatingAdmissionPolicyBinding;
        return policyBinding(metadata, spec);
      },
    });
  }

  mutate(_registry: Registry, admission: Admission): void | Promise<void> {
    return this.#asked(admission);
  }

  connect(_registry: Registry, admission: Admission): void | Promise<void> {
    return this.#asked(admission);
  }

  #asked(admission: Admission): void | Promise<void> {
    const question = admission.object && questionOf(this.#registry, admission);
    const found = question && this.#index.find(question);
    return found?.length ? this.#change(admission, question as WriteQuestion, found) : undefined;
  }

  async #change(
    admission: Admission,
    question: WriteQuestion,
    found: readonly BoundPolicy<MutatingPolicy, PolicyBinding>[],
  ): Promise<void> {
    const write = new AskedWrite(this.#registry, admission, question);
    const denials: Denial[] = [];
    const invoked = this.#invokedOf(admission);
    let applied = false;
    // All configuration is read before anything runs: Kubernetes reports problems in this order.
    for (const invocation of await this.#invocations(found, write, denials)) {
      const { policy, key } = invocation;
      const again = (admission.round ?? 0) > 0;
      if (again && !(policy.reinvoked && invoked.has(key))) continue;
      const ran = await this.#run(invocation, write, denials);
      if (ran === 'not concerned') continue;
      applied ||= ran === 'applied';
      invoked.add(key);
      if (applied && policy.reinvoked) admission.reinvoke = true;
    }
    const failing = denials.filter(({ policy }) => !policy.ignoresErrors);
    if (failing.length) throw refusal(write, failing);
  }

  #invokedOf(admission: Admission): Set<string> {
    let invoked = this.#invoked.get(admission);
    if (!invoked) {
      invoked = new Set();
      this.#invoked.set(admission, invoked);
    }
    return invoked;
  }

  async #invocations(
    found: readonly BoundPolicy<MutatingPolicy, PolicyBinding>[],
    write: AskedWrite,
    denials: Denial[],
  ): Promise<Invocation[]> {
    const { kinds } = this.#registry;
    const invocations: Invocation[] = [];
    for (const { policy, bindings } of found) {
      const version = policy.match.versionFor(write, kinds);
      if (!version) continue;
      const kind = configured({ policy, binding: undefined }, denials, () =>
        policy.paramKind ? paramKindOf(this.#registry, policy.paramKind) : 'none',
      );
      if (!kind) continue;
      for (const binding of bindings) {
        if (!binding.match.versionFor(write, kinds)) continue;
        const params =
          kind === 'none'
            ? [null]
            : await configured({ policy, binding }, denials, () =>
                paramsOf(this.#registry, kind, binding.paramRef, write.namespace),
              );
        for (const [i, param] of (params ?? []).entries())
          invocations.push({
            policy,
            binding,
            param,
            version,
            key: composedKey(policy.name, binding.name, String(i)),
          });
      }
    }
    return invocations;
  }

  /** Runs the mutations. One that fails is reported, and the others still run. */
  async #run(
    { policy, binding, param, version }: Invocation,
    write: AskedWrite,
    denials: Denial[],
  ): Promise<'not concerned' | 'applied' | 'failed'> {
    const deny = (error: unknown): void => {
      if (!(error instanceof MutationProblem)) throw error;
      denials.push({ policy, binding, message: error.message, reason: 'Invalid' });
    };
    const values = async (): Promise<WriteValues> => {
      await write.prepare(version);
      return new WriteValues(this.#registry, this.authorizer, write, version);
    };
    try {
      if (!(await policy.concerns(await values(), param))) return 'not concerned';
    } catch (error) {
      deny(error);
      return 'not concerned';
    }
    let applied = false;
    for (let index = 0; index < policy.mutations; index++)
      try {
        const current = await values();
        const document = parseExact(write.objectText(version)) as JsonObject;
        await write.replace(version, await policy.mutated(index, current, param, document, version));
        applied = true;
      } catch (error) {
        deny(error);
      }
    return applied ? 'applied' : 'failed';
  }
}

/** The result of reading a configuration; undefined when it cannot be used, which is reported. */
function configured<T>(
  { policy, binding }: Pick<Denial, 'policy' | 'binding'>,
  denials: Denial[],
  make: () => T,
): T | undefined {
  const deny = (error: unknown): undefined => {
    if (!(error instanceof ConfigurationProblem)) throw error;
    denials.push({ policy, binding, message: error.message, reason: 'Forbidden' });
  };
  try {
    const made = make();
    return made instanceof Promise ? (made.catch(deny) as T) : made;
  } catch (error) {
    return deny(error);
  }
}

function refusal({ question, name }: AskedWrite, denials: readonly Denial[]): StatusError {
  const { details } = forbidden(question.kind, name, '').status;
  const causes = denials.map((denial) => ({ message: denialText(denial) }));
  return new StatusError(403, denials[0]!.reason, causes[0]!.message, { ...details, causes });
}

const denialText = ({ policy, binding, message }: Denial): string =>
  binding
    ? `policy '${policy.name}' with binding '${binding.name}' denied request: ${message}`
    : `policy ${goQuoted(policy.name)} denied request: ${message}`;
