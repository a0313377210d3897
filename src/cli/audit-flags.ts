/** The options of the audit log: names, help, and how values are read. */
import type { AuditMode, AuditOptions, AuditWebhookOptions } from '../cluster/index.ts';
import { type Refuse, text, timeOf, type ValuesOf } from './flag-values.ts';

const megabytesMax = 1_000_000;
const backupsMax = 10_000;
const daysMax = 36_500;
const eventsMax = 1_000_000;
const dayMs = 86_400_000;
const modes = ['batch', 'blocking', 'blocking-strict'] as const;
const formats = ['json', 'legacy'] as const;

/** For `parseArgs`. */
export const auditArgs = {
  'audit-log': text,
  'audit-log-maxsize': text,
  'audit-log-maxbackup': text,
  'audit-log-maxage': text,
  'audit-log-format': text,
  'audit-log-mode': text,
  'audit-webhook-config-file': text,
  'audit-webhook-mode': text,
  'audit-webhook-batch-max-size': text,
  'audit-webhook-batch-max-wait': text,
  'audit-webhook-batch-buffer-size': text,
  'audit-webhook-initial-backoff': text,
  'audit-policy-file': text,
} as const;

export const auditHelp = `  --audit-log FILE      write down every request, as lines of JSON; - writes to standard output
  --audit-log-maxsize MEGABYTES
                        size from which on the file is put aside and a new one begun (default 100)
  --audit-log-maxbackup N
                        files put aside that are kept (default 10)
  --audit-log-maxage DAYS
                        delete files put aside when they are older; 0 for no age (default 0)
  --audit-log-format FORMAT
                        json, or legacy for a line of names and values (default json)
  --audit-log-mode MODE batch; blocking: requests wait until their receipt is written; blocking-strict: and fail when
                        it cannot be (default batch)
  --audit-webhook-config-file FILE
                        kubeconfig of a server that audit events are sent to
  --audit-webhook-mode MODE
                        as for the log (default batch)
  --audit-webhook-batch-max-size N
                        events sent together (default 400)
  --audit-webhook-batch-max-wait TIME
                        how long events wait for others (default 30s)
  --audit-webhook-batch-buffer-size N
                        events that may wait; more are lost (default 10000)
  --audit-webhook-initial-backoff TIME
                        pause before events are sent for the second time (default 10s)
  --audit-policy-file FILE
                        which requests are written down, at which stages, with which objects (default: all, without)
`;

type AuditValues = ValuesOf<typeof auditArgs>;
type Name = keyof AuditValues;

const names = Object.keys(auditArgs) as Name[];
const fileNames = names.filter((name) => name.startsWith('audit-log-'));
const webhookNames = names.filter((name) => name.startsWith('audit-webhook-'));

/** undefined: nothing is written down. @param refuse throws */
export function readAudit(values: AuditValues, refuse: Refuse): AuditOptions | undefined {
  const file = values['audit-log'];
  const configFile = values['audit-webhook-config-file'];
  for (const name of ['audit-log', 'audit-webhook-config-file', 'audit-policy-file'] as const)
    if (values[name] === '') refuse(`--${name} must name a file`);
  const given = (some: readonly Name[]): Name | undefined => some.find((name) => values[name] !== undefined);
  const idle = (file === undefined && given(fileNames)) || (configFile === undefined && given(webhookNames));
  if (idle)
    refuse(`--${idle} needs --${fileNames.includes(idle) ? 'audit-log' : 'audit-webhook-config-file'}`);
  if (file === undefined && configFile === undefined) {
    if (values['audit-policy-file'] !== undefined) refuse('--audit-policy-file needs --audit-log');
    return undefined;
  }
  return {
    ...(file === undefined ? {} : readFile(file, values, refuse)),
    ...(configFile === undefined ? {} : { webhook: readWebhook(configFile, values, refuse) }),
    policyFile: values['audit-policy-file'],
  };
}

function readFile(file: string, values: AuditValues, refuse: Refuse): AuditOptions {
  const megabytes = countOf(values, 'audit-log-maxsize', megabytesMax, refuse) ?? 100;
  if (megabytes === 0) refuse('--audit-log-maxsize must be at least 1');
  const days = countOf(values, 'audit-log-maxage', daysMax, refuse) ?? 0;
  return {
    file,
    fileBytesMax: megabytes * 1024 * 1024,
    backupsMax: countOf(values, 'audit-log-maxbackup', backupsMax, refuse) ?? 10,
    ...(days === 0 ? {} : { fileAgeMaxMs: days * dayMs }),
    fileFormat: oneOf(values, 'audit-log-format', formats, refuse),
    fileMode: modeOf(values, 'audit-log-mode', refuse),
  };
}

function readWebhook(configFile: string, values: AuditValues, refuse: Refuse): AuditWebhookOptions {
  const batchEventsMax = countOf(values, 'audit-webhook-batch-max-size', eventsMax, refuse);
  if (batchEventsMax === 0) refuse('--audit-webhook-batch-max-size must be at least 1');
  return {
    configFile,
    mode: modeOf(values, 'audit-webhook-mode', refuse),
    batchEventsMax,
    batchWaitMs: timeOf(values, 'audit-webhook-batch-max-wait', refuse),
    bufferEventsMax: countOf(values, 'audit-webhook-batch-buffer-size', eventsMax, refuse),
    retryMs: timeOf(values, 'audit-webhook-initial-backoff', refuse),
  };
}

const modeOf = (values: AuditValues, name: Name, refuse: Refuse): AuditMode | undefined =>
  oneOf(values, name, modes, refuse);

function oneOf<const T extends string>(
  values: AuditValues,
  name: Name,
  allowed: readonly T[],
  refuse: Refuse,
): T | undefined {
  const value = values[name];
  if (value === undefined || allowed.includes(value as T)) return value as T | undefined;
  return refuse(`--${name} must be one of ${allowed.join(', ')}, not ${JSON.stringify(value)}`);
}

function countOf(values: AuditValues, name: Name, max: number, refuse: Refuse): number | undefined {
  const value = values[name];
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value) && Number(value) <= max) return Number(value);
  return refuse(`--${name} must be a number from 0 to ${max}, not ${JSON.stringify(value)}`);
}
