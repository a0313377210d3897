/** How objects of a custom kind are converted between its versions: the rules of `spec.conversion`. */
import { forbidden, index, invalid, notSupported, required } from '../../errors/field-error.ts';
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionSpec,
  WebhookConversion,
} from '../../generated/types.ts';
import { isLabel1035 } from '../../values/names.ts';
import { clientConfigErrors } from '../admission/webhook-client.ts';
import { type Findings, problemsOf } from '../shared/findings.ts';

const strategies: readonly string[] = ['None', 'Webhook'];
const reviewVersions: readonly string[] = ['v1', 'v1beta1'];
const path = 'spec.conversion';
const clientPath = `${path}.webhookClientConfig`;
const versionsPath = `${path}.conversionReviewVersions`;

export function* conversionErrors(
  { conversion = {}, preserveUnknownFields }: CustomResourceDefinitionSpec,
  old: CustomResourceDefinition | undefined,
): Findings {
  const { strategy, webhook } = conversion;
  if (preserveUnknownFields && strategy !== 'None')
    yield invalid(`${path}.strategy`, strategy ?? '', 'must be None if spec.preserveUnknownFields is true');
  if (!strategy) yield required(`${path}.strategy`);
  else if (!strategies.includes(strategy)) yield notSupported(`${path}.strategy`, strategy, strategies);
  if (strategy === 'Webhook') return yield* webhookErrors(webhook ?? {}, old);
  const why = 'should not be set when strategy is not set to Webhook';
  if (webhook?.clientConfig) yield forbidden(clientPath, why);
  if (webhook?.conversionReviewVersions?.length) yield forbidden(versionsPath, why);
}

function* webhookErrors(
  { clientConfig, conversionReviewVersions: versions = [] }: WebhookConversion,
  old: CustomResourceDefinition | undefined,
): Findings {
  if (!clientConfig) yield required(clientPath, 'required when strategy is set to Webhook');
  else {
    yield* clientConfigErrors(clientConfig, clientPath);
    if (old && mustBeReadable(old) && bundleProblem(clientConfig.caBundle))
      yield invalid(`${clientPath}.caBundle`, clientConfig.caBundle, bundleProblem(clientConfig.caBundle)!);
  }
  yield* reviewVersionsErrors(versions, old);
}

/** A bundle that was broken before may stay so, and a definition may get one that is not there yet. */
const mustBeReadable = ({ spec, status }: CustomResourceDefinition): boolean =>
  status?.conditions?.some(({ type, status: is }) => type === 'Established' && is === 'True') === true &&
  bundleProblem(spec?.conversion?.webhook?.clientConfig?.caBundle) === undefined;

/** Why a bundle of certificates (base64 of PEM) cannot be used. */
export function bundleProblem(bundle: string | undefined): string | undefined {
  if (!bundle) return undefined;
  const text = Buffer.from(bundle, 'base64').toString('latin1');
  const isPem = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/.test(text);
  return isPem ? undefined : 'unable to load root certificates: unable to parse bytes as PEM block';
}

/** Whether this server speaks one of these versions of ConversionReview. */
const hasKnownVersion = (versions: readonly string[]): boolean =>
  versions.some((version) => reviewVersions.includes(version));

function* reviewVersionsErrors(
  versions: readonly string[],
  old: CustomResourceDefinition | undefined,
): Findings {
  if (versions.length === 0) return yield required(versionsPath);
  const seen = new Set<string>();
  for (const [i, version] of versions.entries()) {
    if (seen.has(version)) yield invalid(index(versionsPath, i), version, 'duplicate version');
    else yield* problemsOf(index(versionsPath, i), version, isLabel1035(version));
    seen.add(version);
  }
  const before = old?.spec?.conversion?.webhook?.conversionReviewVersions ?? [];
  if (!hasKnownVersion(versions) && (before.length === 0 || hasKnownVersion(before)))
    yield invalid(versionsPath, versions, `must include at least one of ${reviewVersions.join(', ')}`);
}
