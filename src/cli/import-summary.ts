/** What an import has copied, for people. */
import type { CopyProgress, ImportOptions, ImportSummary } from '../cluster/index.ts';
import { terminalText } from '../cluster/shared/terminal-text.ts';

/** The words of the progress line. */
export const importProgress = ({ objects, objectsTotal, kinds, kindsTotal }: CopyProgress): string =>
  `${objects} objects${objectsTotal > objects ? ` of at least ${objectsTotal}` : ''}, ${kinds} of ${kindsTotal} kinds`;

/** A table of all kinds with objects, or of which some could not be read, and what to do with the copy. */
export function importText(
  { source, target, objects, requests, kinds }: ImportSummary,
  { dataDir, alive, into }: ImportOptions,
): string {
  const rows = kinds.filter((kind) => kind.objects > 0 || kind.why !== undefined);
  const width = Math.max(8, ...rows.map(({ resource }) => resource.length));
  const line = (resource: string, count: string, why: string): string =>
    `${resource.padEnd(width)}  ${count.padStart(7)}  ${why}`.trimEnd();
  const isFolder = target === dataDir;
  const opened = alive ? `wherry up --data-dir ${dataDir} --simulated-nodes 3` : `wherry open ${dataDir}`;
  const { kubeconfig, context } = into ?? {};
  const reached = [kubeconfig && ` --kubeconfig ${kubeconfig}`, context && ` --context ${context}`].join('');
  const next = isFolder ? opened : `kubectl${reached || ` -s ${target}`} get pods -A`;
  return [
    line('RESOURCE', 'OBJECTS', 'NOT COPIED'),
    ...rows.map(({ resource, objects: count, why = '' }) => line(resource, String(count), why)),
    `Copied ${objects} objects of ${source} into ${target}, with ${requests} requests`,
    `Try: ${next}`,
  ]
    .map((text) => `${terminalText(text)}\n`)
    .join('');
}
