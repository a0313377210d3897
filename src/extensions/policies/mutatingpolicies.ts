/**
 * MutatingAdmissionPolicy: policies that change objects, one after the other, sorted by name. Those that ask for it run
 * once more when the object was changed after them.
 */

import type { Value } from '../../api/cel/values.ts';
import { forbidden, StatusError } from '../../api/errors.ts';
import { parseExact } from '../../api/exactjson.ts';
import type { MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind.ts';
import type { JsonObject } from '../../api/object.ts';
import type { Admission, AdmissionPlugin } from '../../registry/admission/admission.ts';
import type { Registry } from '../../registry/registry.ts';
import { AskedWrite, questionOf } from '../webhooks/askedwrite.ts';
import type { HookQuestion } from '../webhooks/hookindex.ts';
import { MutatingPolicy, MutationProblem } from './mutatingpolicy.ts';
import { ConfigurationProblem, paramKindOf, paramsOf } from './params.ts';
import { type PolicyBinding, policyBinding } from './policybinding.ts';
import { type BoundPolicy, PolicyIndex } from './policyindex.ts';
import { WriteValues } from './writevalues.ts';

export class MutatingPolicies implements AdmissionPlugin {
  readonly name = 'MutatingAdmissionPolicy';
  readonly #registry: Registry;
  readonly #index: PolicyIndex<MutatingPolicy, PolicyBinding>;

  constructor(registry: Registry) {
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
    const question = admission.object && questionOf(admission);
    const found = question && this.#index.find(question);
    return found?.length ? this.#change(admission, question as HookQuestion, found) : undefined;
  }

  async #change(
    admission: Admission,
    question: HookQuestion,
    found: readonly BoundPolicy<MutatingPolicy, PolicyBinding>[],
  ): Promise<void> {
    const write = new AskedWrite(this.#registry, admission, question);
    const again = (admission.round ?? 0) > 0;
    let waiting = false;
    for (const { policy, bindings } of found) {
      if (again && !policy.reinvoked) continue;
      for (const binding of bindings) {
        const changed = await this.#bound(policy, binding, write);
        if (changed && waiting) admission.reinvoke = true;
      }
      waiting ||= policy.reinvoked;
    }
  }

  /** Whether the object has changed. */
  async #bound(policy: MutatingPolicy, binding: PolicyBinding, write: AskedWrite): Promise<boolean> {
    const { kinds } = this.#registry;
    const version = policy.match.versionFor(write, kinds);
    if (!version || !binding.match.versionFor(write, kinds)) return false;
    let changed = false;
    try {
      const kind = policy.paramKind && paramKindOf(this.#registry, policy.paramKind);
      const params = kind ? await paramsOf(this.#registry, kind, binding.paramRef, write.namespace) : [null];
      for (const param of params) changed = (await this.#applied(policy, param, write, version)) || changed;
    } catch (error) {
      if (!(error instanceof ConfigurationProblem || error instanceof MutationProblem)) throw error;
      if (!policy.ignoresErrors)
        throw refusal(
          write,
          `policy '${policy.name}' with binding '${binding.name}' denied request: ${error.message}`,
        );
    }
    return changed;
  }

  async #applied(policy: MutatingPolicy, params: Value, write: AskedWrite, version: Kind): Promise<boolean> {
    await write.prepare(version);
    const values = new WriteValues(this.#registry, write, version);
    if (!(await policy.concerns(values, params))) return false;
    let changed = false;
    for (let index = 0; index < policy.mutations; index++) {
      await write.prepare(version);
      const current = new WriteValues(this.#registry, write, version);
      const document = parseExact(write.objectText(version)) as JsonObject;
      const result = await policy.mutated(index, current, params, document, version);
      changed = (await write.replace(version, result)) || changed;
    }
    return changed;
  }
}

function refusal({ question, name }: AskedWrite, message: string): StatusError {
  const { details } = forbidden(question.kind, name, '').status;
  return new StatusError(403, 'Invalid', message, { ...details, causes: [{ message }] });
}
