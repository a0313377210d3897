/** Webhooks of configurations, compiled for matching and calling. */

import type { Condition } from '../../api/cel/conditions.ts';
import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  RuleWithOperations,
  ValidatingWebhook,
  ValidatingWebhookConfiguration,
  WebhookClientConfig,
} from '../../api/generated/types.ts';
import {
  type LabelSelector,
  type LabelSelectorObject,
  selectorFromObject,
} from '../../api/kind/label-selector.ts';
import { reviewVersions } from '../../api/rules/admission/webhooks.ts';
import { hookCondition } from '../writes/conditions.ts';

const timeoutSecondsDefault = 10;

export interface Hook {
  /** The name of its configuration. */
  readonly configuration: string;
  readonly name: string;
  readonly client: WebhookClientConfig;
  readonly rules: readonly RuleWithOperations[];
  /** Whether the rules also match other versions of a resource. */
  readonly equivalent: boolean;
  readonly namespaceSelector: LabelSelector;
  readonly objectSelector: LabelSelector;
  readonly conditions: readonly Condition[];
  /** Whether failures of the webhook are ignored. */
  readonly ignoresFailure: boolean;
  readonly takesDryRun: boolean;
  readonly timeoutMs: number;
  readonly reviewVersion: string;
  /** Whether the webhook is called again when a later one has changed the object. */
  readonly reinvoked: boolean;
}

export function hooksOf(
  configuration: MutatingWebhookConfiguration | ValidatingWebhookConfiguration,
): readonly Hook[] {
  const { metadata, webhooks = [] } = configuration;
  return (webhooks as (MutatingWebhook | ValidatingWebhook)[]).map((webhook) => ({
    configuration: metadata.name ?? '',
    name: webhook.name ?? '',
    client: webhook.clientConfig ?? {},
    rules: webhook.rules ?? [],
    equivalent: webhook.matchPolicy !== 'Exact',
    namespaceSelector: selectorOf(webhook.namespaceSelector),
    objectSelector: selectorOf(webhook.objectSelector),
    conditions: (webhook.matchConditions ?? []).map(({ expression = '' }) => hookCondition(expression)),
    ignoresFailure: webhook.failurePolicy === 'Ignore',
    takesDryRun: webhook.sideEffects === 'None' || webhook.sideEffects === 'NoneOnDryRun',
    timeoutMs: (webhook.timeoutSeconds ?? timeoutSecondsDefault) * 1000,
    reviewVersion:
      webhook.admissionReviewVersions?.find((version) => reviewVersions.includes(version)) ?? 'v1',
    reinvoked: 'reinvocationPolicy' in webhook && webhook.reinvocationPolicy === 'IfNeeded',
  }));
}

const selectorOf = (selector: unknown): LabelSelector =>
  selectorFromObject((selector ?? {}) as LabelSelectorObject);
