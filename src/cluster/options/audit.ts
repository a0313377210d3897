/** What is written down about requests, and where. */
import type { AuditOptions } from '../../server/observe/audit-log.ts';
import type { AuditWebhookOptions } from '../../server/observe/audit-webhook.ts';
import { type Given, group, optionFor } from './option.ts';
import { count, file, oneOf, time } from './values.ts';

const option = optionFor('up', 'serve');
const megabytesMax = 1_000_000;
const backupsMax = 10_000;
const daysMax = 36_500;
const eventsMax = 1_000_000;
const mebibyte = 1024 * 1024;
const dayMs = 86_400_000;
const mode = oneOf('MODE', 'batch', 'blocking', 'blocking-strict');
const megabytes = count('MEGABYTES', megabytesMax, 1);
const days = count('DAYS', daysMax);

const webhook = group<AuditWebhookOptions>(
  {
    configFile: option({
      flag: 'audit-webhook-config-file',
      value: file,
      text: 'kubeconfig of a server that audit events are sent to',
    }),
    mode: option({ flag: 'audit-webhook-mode', value: mode, text: 'as for the log', default: 'batch' }),
    batchEventsMax: option({
      flag: 'audit-webhook-batch-max-size',
      value: count('N', eventsMax, 1),
      text: 'events sent together',
      default: '400',
    }),
    batchWaitMs: option({
      flag: 'audit-webhook-batch-max-wait',
      value: time,
      text: 'how long events wait for others',
      default: '30s',
    }),
    bufferEventsMax: option({
      flag: 'audit-webhook-batch-buffer-size',
      value: count('N', eventsMax),
      text: 'events that may wait; more are lost',
      default: '10000',
    }),
    retryMs: option({
      flag: 'audit-webhook-initial-backoff',
      value: time,
      text: 'pause before events are sent for the second time',
      default: '10s',
    }),
  },
  { isGiven: ({ flags }) => flags.includes('audit-webhook-config-file') },
);

export const auditOptions = {
  /** File of the audit log. Default: none is written. */
  auditLog: group<string | AuditOptions>(
    {
      file: option({
        flag: 'audit-log',
        value: file,
        text: 'write down every request, as lines of JSON; - writes to standard output',
      }),
      fileBytesMax: option({
        flag: 'audit-log-maxsize',
        value: { ...megabytes, read: (...given) => megabytes.read(...given) * mebibyte },
        text: 'size from which on the file is put aside and a new one begun',
        default: '100',
        preset: 'audit-log',
      }),
      backupsMax: option({
        flag: 'audit-log-maxbackup',
        value: count('N', backupsMax),
        text: 'files put aside that are kept',
        default: '10',
        preset: 'audit-log',
      }),
      fileAgeMaxMs: option<number | undefined>({
        flag: 'audit-log-maxage',
        value: { ...days, read: (...given) => days.read(...given) * dayMs || undefined },
        text: 'delete files put aside when they are older; 0 for no age',
        default: '0',
      }),
      fileFormat: option({
        flag: 'audit-log-format',
        value: oneOf('FORMAT', 'json', 'legacy'),
        text: 'json, or legacy for a line of names and values',
        default: 'json',
      }),
      fileMode: option({
        flag: 'audit-log-mode',
        value: mode,
        text: 'batch; blocking: requests wait until their receipt is written; blocking-strict: and fail when\nit cannot be',
        default: 'batch',
      }),
      webhook,
      policyFile: option({
        flag: 'audit-policy-file',
        value: file,
        text: 'which requests are written down, at which stages, with which objects (default: all, without)',
      }),
    },
    { isGiven: isAuditGiven },
  ),
};

/** Flags that begin so say more about what the flag behind opens. */
const needed = [
  ['audit-log-', 'audit-log'],
  ['audit-webhook-', 'audit-webhook-config-file'],
] as const;

function isAuditGiven({ flags, refuse }: Given): boolean {
  for (const [beginning, opener] of needed) {
    const idle = flags.includes(opener) ? undefined : flags.find((flag) => flag.startsWith(beginning));
    if (idle) refuse(`--${idle} needs --${opener}`);
  }
  const isWritten = needed.some(([, opener]) => flags.includes(opener));
  if (!isWritten && flags.length) refuse('--audit-policy-file needs --audit-log');
  return isWritten;
}
