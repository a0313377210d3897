/** What bindings of both kinds of policies have in common. */
import type { ObjectMeta, ParamRef } from '../../api/generated/types.ts';
import { Match } from './match.ts';

export interface PolicyBinding {
  readonly name: string;
  readonly policyName: string;
  readonly match: Match;
  readonly paramRef: ParamRef | undefined;
}

interface BindingSpec {
  readonly policyName?: string | undefined;
  readonly matchResources?: ConstructorParameters<typeof Match>[0] | undefined;
  readonly paramRef?: ParamRef | undefined;
}

export function policyBinding({ name = '' }: ObjectMeta, spec: BindingSpec): PolicyBinding {
  const { policyName = '', matchResources = {}, paramRef } = spec;
  return { name, policyName, match: new Match(matchResources), paramRef };
}
