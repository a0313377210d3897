/** Host processes of Windows: a pod has only such containers, or none, and they use the network of the node. */
import { child, index, invalid } from '../../errors/field-error.ts';
import type { PodSpec } from '../../generated/types.ts';
import type { Findings } from '../shared/findings.ts';

export function* hostProcessErrors(spec: PodSpec, path: string): Findings {
  const ofPod = spec.securityContext?.windowsOptions?.hostProcess;
  let [containers, hostProcesses] = [0, 0];
  for (const name of ['initContainers', 'containers', 'ephemeralContainers'] as const)
    for (const [i, { securityContext }] of (spec[name] ?? []).entries()) {
      const own = securityContext?.windowsOptions?.hostProcess;
      containers++;
      if (own ?? ofPod) hostProcesses++;
      if (ofPod !== undefined && own !== undefined && own !== ofPod)
        yield invalid(
          child(index(child(path, name), i), 'securityContext.windowsOptions.hostProcess'),
          own,
          `pod hostProcess value must be identical if both are specified, was ${ofPod}`,
        );
    }
  if (hostProcesses === 0) return;
  if (hostProcesses !== containers)
    yield invalid(
      path,
      '',
      'If pod contains any hostProcess containers then all containers must be HostProcess containers',
    );
  if (!spec.hostNetwork)
    yield invalid(
      child(path, 'hostNetwork'),
      false,
      'hostNetwork must be true if pod contains any hostProcess containers',
    );
}
