/** ValidatingAdmissionPolicy: policies that refuse writes, warn of them, or note them in the audit log. */
import { forbidden, StatusError } from '../../api/errors/errors.ts';
import type {
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from '../../api/generated/types.ts';
import type { Authorizer } from '../../api/kind/access.ts';
import type { Kind } from '../../api/kind/kind.ts';
import type { Admission, AdmissionPlugin } from '../../registry/admission-chain.ts';
import type { Registry } from '../../registry/registry.ts';
import { AskedWrite, questionOf } from '../writes/asked-write.ts';
import type { WriteQuestion } from '../writes/write-question.ts';
import { WriteValues } from '../writes/write-values.ts';
import { ConfigurationProblem, paramKindOf, paramsOf } from './params.ts';
import { type PolicyBinding, policyBinding } from './policy-binding.ts';
import { type BoundPolicy, PolicyIndex } from './policy-index.ts';
import { type Failure, ValidatingPolicy } from './validating-policy.ts';

interface Binding extends PolicyBinding {
  readonly actions: readonly string[];
}

const codes: Readonly<Record<string, number>> = { Invalid: 422, Forbidden: 403, RequestEntityTooLarge: 413 };

/** The annotation of the audit log that lists what failed. */
const failureAnnotation = 'validation.policy.admission.k8s.io/validation_failure';

export class ValidatingPolicies implements AdmissionPlugin {
  readonly name = 'ValidatingAdmissionPolicy';
  readonly #registry: Registry;
  readonly #index: PolicyIndex<ValidatingPolicy, Binding>;

  constructor(
    registry: Registry,
    private readonly authorizer: Authorizer,
  ) {
    this.#registry = registry;
    this.#index = new PolicyIndex(registry.view, registry.kinds, {
      policies: 'validatingadmissionpolicies',
      bindings: 'validatingadmissionpolicybindings',
      readPolicy: (entry) => new ValidatingPolicy(entry.peek() as ValidatingAdmissionPolicy),
      readBinding: (entry) => bindingOf(entry.peek() as ValidatingAdmissionPolicyBinding),
    });
  }

  validate(_registry: Registry, admission: Admission): void | Promise<void> {
    return this.#asked(admission);
  }

  connect(_registry: Registry, admission: Admission): void | Promise<void> {
    return this.#asked(admission);
  }

  #asked(admission: Admission): void | Promise<void> {
    const question = questionOf(this.#registry, admission);
    const found = question && this.#index.find(question);
    return found?.length ? this.#check(admission, question as WriteQuestion, found) : undefined;
  }

  /** Evaluates all policies, for their warnings and annotations; the first that denies determines the answer. */
  async #check(
    admission: Admission,
    question: WriteQuestion,
    found: readonly BoundPolicy<ValidatingPolicy, Binding>[],
  ): Promise<void> {
    const { kinds } = this.#registry;
    const write = new AskedWrite(this.#registry, admission, question);
    const verdict = new Verdict(write);
    for (const { policy, bindings } of found) {
      const version = policy.match.versionFor(write, kinds);
      if (!version) continue;
      await write.prepare(version);
      const values = new WriteValues(this.#registry, this.authorizer, write, version);
      try {
        const paramKind = policy.paramKind && paramKindOf(this.#registry, policy.paramKind);
        for (const binding of bindings)
          if (binding.match.versionFor(write, kinds))
            await this.#bound(policy, binding, paramKind, values, write, verdict);
      } catch (error) {
        if (!(error instanceof ConfigurationProblem)) throw error;
        if (!policy.ignoresErrors)
          verdict.deny(`ValidatingAdmissionPolicy '${policy.name}' denied request: ${error.message}`);
      }
    }
    verdict.finish();
  }

  async #bound(
    policy: ValidatingPolicy,
    binding: Binding,
    paramKind: Kind | undefined,
    values: WriteValues,
    write: AskedWrite,
    verdict: Verdict,
  ): Promise<void> {
    try {
      const params = paramKind
        ? await paramsOf(this.#registry, paramKind, binding.paramRef, write.namespace)
        : [null];
      for (const param of params) {
        const { failures, annotations } = await policy.run(values, param);
        for (const failure of failures) verdict.fail(policy, binding, failure);
        for (const [key, value] of Object.entries(annotations))
          verdict.annotate(`${policy.name}/${key}`, value);
      }
    } catch (error) {
      if (!(error instanceof ConfigurationProblem)) throw error;
      if (!policy.ignoresErrors)
        verdict.fail(
          policy,
          { ...binding, actions: ['Deny'] },
          { index: undefined, message: error.message, reason: 'Invalid' },
        );
    }
  }
}

function bindingOf({ metadata, spec = {} }: ValidatingAdmissionPolicyBinding): Binding {
  return { ...policyBinding(metadata, spec), actions: spec.validationActions ?? [] };
}

/** The combined result of all policies for a write. */
class Verdict {
  readonly #write: AskedWrite;
  readonly #annotations = new Map<string, Set<string>>();
  readonly #noted: object[] = [];
  #denied: StatusError | undefined;

  constructor(write: AskedWrite) {
    this.#write = write;
  }

  fail(policy: ValidatingPolicy, binding: Binding, { index, message, reason }: Failure): void {
    const { actions } = binding;
    const place = `ValidatingAdmissionPolicy '${policy.name}' with binding '${binding.name}'`;
    if (actions.includes('Deny')) this.deny(`${place} denied request: ${message}`, reason);
    if (actions.includes('Warn'))
      this.#write.admission.request.warnings.push(`Validation failed for ${place}: ${message}`);
    if (actions.includes('Audit'))
      this.#noted.push({
        message,
        policy: policy.name,
        binding: binding.name,
        expressionIndex: index ?? 0,
        validationActions: actions,
      });
  }

  deny(text: string, reason = 'Invalid'): void {
    if (this.#denied) return;
    const { kind } = this.#write.question;
    const { status } = forbidden(kind, this.#write.name, text);
    const details = { ...status.details, causes: [{ message: text }] };
    this.#denied = new StatusError(codes[reason] ?? codes.Invalid!, reason, status.message ?? '', details);
  }

  annotate(key: string, value: string): void {
    const values = this.#annotations.get(key) ?? new Set();
    this.#annotations.set(key, values.add(value));
  }

  finish(): void {
    const { request } = this.#write.admission;
    for (const [key, values] of this.#annotations) request.annotate(key, [...values].join(', '));
    if (this.#noted.length > 0) request.annotate(failureAnnotation, JSON.stringify(this.#noted));
    if (this.#denied) throw this.#denied;
  }
}
