/** The pod security policy of a namespace, which its labels set: a level and a version for each mode. */
import { type FieldError, invalid, key } from '../../errors/field-error.ts';

const levels = ['privileged', 'baseline', 'restricted'] as const;
export type Level = (typeof levels)[number];

/** A level and version that pods are checked against. */
export interface PolicyLevel {
  readonly level: Level;
  /** `latest`, or `v1.x`. */
  readonly version: string;
}

export const modes = ['enforce', 'audit', 'warn'] as const;
export type Mode = (typeof modes)[number];
export type Policy = Readonly<Record<Mode, PolicyLevel>>;

export const labelPrefix = 'pod-security.kubernetes.io/';
const versionForm = /^v1\.(0|[1-9]\d{0,4})$/;

const nothingAsked: PolicyLevel = { level: 'privileged', version: 'latest' };
export const privilegedPolicy: Policy = { enforce: nothingAsked, audit: nothingAsked, warn: nothingAsked };

export const isLevel = (text: string): text is Level => (levels as readonly string[]).includes(text);
export const isVersion = (text: string): boolean => text === 'latest' || versionForm.test(text);

export const levelExpectation = `must be one of ${levels.join(', ')}`;
export const versionExpectation = 'must be "latest" or "v1.x"';

/** The minor version; `latest` is above all others. */
export const minorOf = (version: string): number =>
  version === 'latest' ? Number.POSITIVE_INFINITY : Number(versionForm.exec(version)![1]);

export const isStricter = (a: Level, b: Level): boolean => levels.indexOf(a) > levels.indexOf(b);

/** `baseline:latest`. */
export const policyText = ({ level, version }: PolicyLevel): string => `${level}:${version}`;

export interface LabelledPolicy {
  readonly policy: Policy;
  /** What is wrong with the labels. */
  readonly errors: readonly FieldError[];
}

/**
 * The policy that labels set. Wrong ones, which can be there from the time before this was checked, are read for safety
 * where pods are refused, and count as absent where they are only spoken of.
 */
export function policyOf(labels: Readonly<Record<string, string>>, defaults: Policy): LabelledPolicy {
  const errors: FieldError[] = [];
  const policy = { ...defaults };
  for (const mode of modes) {
    const level = labels[labelPrefix + mode];
    const version = labels[`${labelPrefix}${mode}-version`];
    policy[mode] = {
      level: level === undefined ? defaults[mode].level : readLevel(level, mode, errors),
      version: version === undefined ? defaults[mode].version : readVersion(version, mode, errors),
    };
  }
  const isWarnSet = labels[`${labelPrefix}warn`] !== undefined;
  if (labels[`${labelPrefix}enforce`] !== undefined && !isWarnSet)
    if (isStricter(policy.enforce.level, policy.warn.level)) policy.warn = policy.enforce;
  return { policy, errors };
}

function readLevel(text: string, mode: Mode, errors: FieldError[]): Level {
  if (isLevel(text)) return text;
  errors.push(invalid(key('metadata.labels', labelPrefix + mode), text, levelExpectation));
  return mode === 'enforce' ? 'restricted' : 'privileged';
}

function readVersion(text: string, mode: Mode, errors: FieldError[]): string {
  if (isVersion(text)) return text;
  errors.push(invalid(key('metadata.labels', `${labelPrefix}${mode}-version`), text, versionExpectation));
  return 'latest';
}

export const isPrivileged = ({ enforce, audit, warn }: Policy): boolean =>
  enforce.level === 'privileged' && audit.level === 'privileged' && warn.level === 'privileged';
