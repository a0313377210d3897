/**
 * Optional protection of a cluster: admission settings, the audit log with its policy, encryption. The code that reads
 * their files is loaded only when there are files.
 */
import type { Sources } from '../registry/registry.ts';
import { type AuditLog, type AuditOptions, openAuditLog } from '../server/observe/audit-log.ts';
import type { AuditPolicy } from '../server/observe/audit-policy.ts';
import type { AdmissionSettings } from './options/admission-file.ts';
import { StartError } from './shared/start-error.ts';

/** The settings in the admission configuration file, if there is one. */
export async function admissionSettings(file: string | undefined): Promise<Partial<AdmissionSettings>> {
  if (file === undefined) return {};
  const { readAdmissionFile } = await import('./options/admission-file.ts');
  return readAdmissionFile(file);
}

export async function auditLog(
  asked: string | AuditOptions,
  { nowMs }: Sources,
  report: (error: Error) => void,
): Promise<AuditLog> {
  const options = typeof asked === 'string' ? { file: asked } : asked;
  if (options.file === undefined && !options.webhook)
    throw new StartError('the audit log needs a file or a webhook');
  try {
    return await openAuditLog(options, nowMs, report, await auditPolicy(options));
  } catch (error) {
    if (error instanceof StartError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    const sentence = code ? `the audit log ${options.file} cannot be written (${code})` : message;
    throw new StartError(sentence, { cause: error });
  }
}

async function auditPolicy({ policyFile }: AuditOptions): Promise<AuditPolicy | undefined> {
  if (policyFile === undefined) return undefined;
  const { readAuditPolicy } = await import('../server/observe/audit-policy.ts');
  const { readConfigurationFile } = await import('./options/configuration-file.ts');
  return readConfigurationFile(policyFile, 'the audit policy', readAuditPolicy);
}
