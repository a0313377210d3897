/** Match rules of a policy or binding: rules, exceptions and selectors. */
import type { MatchResources, NamedRuleWithOperations } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import {
  type LabelSelector,
  type LabelSelectorObject,
  selectorFromObject,
} from '../../api/kind/label-selector.ts';
import type { KindTable } from '../../api/kinds/kinds.ts';
import type { AskedWrite } from '../writes/asked-write.ts';
import { isRuled, type WriteQuestion } from '../writes/write-question.ts';

export class Match {
  readonly namespaceSelector: LabelSelector;
  readonly objectSelector: LabelSelector;
  readonly #rules: readonly NamedRuleWithOperations[];
  readonly #excluded: readonly NamedRuleWithOperations[];
  /** Whether the rules also match other versions of a resource. */
  readonly #equivalent: boolean;

  constructor(match: MatchResources) {
    this.namespaceSelector = selectorOf(match.namespaceSelector);
    this.objectSelector = selectorOf(match.objectSelector);
    this.#rules = match.resourceRules ?? [];
    this.#excluded = match.excludeResourceRules ?? [];
    this.#equivalent = match.matchPolicy !== 'Exact';
  }

  /** Whether the rules may match a write, whatever the name of its object. */
  isFor(question: WriteQuestion, kinds: KindTable): boolean {
    return this.#rules.length === 0 || this.#ruled(this.#rules, question, kinds, undefined) !== undefined;
  }

  /**
   * The version in which the policy sees a write; undefined when it does not match. Without rules: the version of the
   * write.
   */
  versionFor(write: AskedWrite, kinds: KindTable): Kind | undefined {
    const { question, name } = write;
    if (!write.isSelectedBy(this)) return undefined;
    if (this.#ruled(this.#excluded, question, kinds, name)) return undefined;
    return this.#rules.length === 0 ? question.kind : this.#ruled(this.#rules, question, kinds, name);
  }

  #ruled(
    rules: readonly NamedRuleWithOperations[],
    question: WriteQuestion,
    kinds: KindTable,
    name: string | undefined,
  ): Kind | undefined {
    const { kind, subresource, operation } = question;
    const fits = (version: Kind): boolean =>
      rules.some((rule) => isNamed(rule, name) && isRuled([rule], version, subresource, operation));
    if (rules.length === 0 || fits(kind) || !this.#equivalent)
      return rules.length > 0 && fits(kind) ? kind : undefined;
    return [...kinds.shownVersions(kind.storage.id)].find((other) => other !== kind && fits(other));
  }
}

const isNamed = ({ resourceNames }: NamedRuleWithOperations, name: string | undefined): boolean =>
  name === undefined || !resourceNames?.length || resourceNames.includes(name);

const selectorOf = (selector: unknown): LabelSelector =>
  selectorFromObject((selector ?? {}) as LabelSelectorObject);
