/** The options of the audit log: names, help, and how values are read. */
import type { AuditOptions } from '../cluster/index.ts';
import { type Refuse, text, type ValuesOf } from './flagvalues.ts';

const megabytesMax = 1_000_000;
const backupsMax = 10_000;

/** For `parseArgs`. */
export const auditArgs = {
  'audit-log': text,
  'audit-log-maxsize': text,
  'audit-log-maxbackup': text,
  'audit-policy-file': text,
} as const;

export const auditHelp = `  --audit-log FILE      write down every request, as lines of JSON
  --audit-log-maxsize MEGABYTES
                        size from which on the file is put aside and a new one begun (default 100)
  --audit-log-maxbackup N
                        files put aside that are kept (default 10)
  --audit-policy-file FILE
                        which requests are written down, at which stages, with which objects (default: all, without)
`;

type AuditValues = ValuesOf<typeof auditArgs>;

/** undefined: nothing is written down. @param refuse throws */
export function readAudit(values: AuditValues, refuse: Refuse): AuditOptions | undefined {
  const file = values['audit-log'];
  if (file === undefined) {
    const names = Object.keys(auditArgs) as (keyof AuditValues)[];
    const idle = names.find((name) => values[name] !== undefined);
    return idle && refuse(`--${idle} needs --audit-log`);
  }
  if (!file) refuse('--audit-log must name a file');
  if (values['audit-policy-file'] === '') refuse('--audit-policy-file must name a file');
  const megabytes = countOf(values, 'audit-log-maxsize', megabytesMax, refuse) ?? 100;
  if (megabytes === 0) refuse('--audit-log-maxsize must be at least 1');
  return {
    file,
    fileBytesMax: megabytes * 1024 * 1024,
    policyFile: values['audit-policy-file'],
    backupsMax: countOf(values, 'audit-log-maxbackup', backupsMax, refuse) ?? 10,
  };
}

function countOf(
  values: AuditValues,
  name: keyof AuditValues,
  max: number,
  refuse: Refuse,
): number | undefined {
  const value = values[name];
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value) && Number(value) <= max) return Number(value);
  return refuse(`--${name} must be a number from 0 to ${max}, not ${JSON.stringify(value)}`);
}
