/** Probes and hooks: rules for the health checks of a container, and for its actions at start and stop. */
import { child, forbidden, invalid, required } from '../../errors/field-error.ts';
import type { Container, HTTPGetAction, Lifecycle, LifecycleHandler, Probe } from '../../generated/types.ts';
import { isHttpHeaderName, isPortName, isPortNumber } from '../../values/names.ts';
import { choice, type Findings, negative, problemsOf } from '../shared/findings.ts';

export const probeNames = ['livenessProbe', 'readinessProbe', 'startupProbe'] as const;
type ProbeName = (typeof probeNames)[number];

/** The action of a probe or a hook. */
interface Handler extends LifecycleHandler, Pick<Probe, 'grpc'> {}
/** In Kubernetes' order: the first one set counts, and more are an error. */
const handlerNames = ['exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep'] as const;

const schemes = ['HTTP', 'HTTPS'];
const counts = [
  'initialDelaySeconds',
  'timeoutSeconds',
  'periodSeconds',
  'successThreshold',
  'failureThreshold',
] as const;

/** The parts of a pod that the rules of probes and hooks depend on. */
export interface ProbeScope {
  readonly gracePeriodSeconds: number;
  readonly osName: string;
}

export function* probeErrors(container: Container, path: string, scope: ProbeScope): Findings {
  if (container.lifecycle) yield* lifecycleErrors(container.lifecycle, child(path, 'lifecycle'), scope);
  for (const name of probeNames) {
    const probe = container[name];
    if (probe) yield* oneProbeErrors(name, probe, child(path, name), scope);
  }
}

/** An init container cannot have probes, unless it is a sidecar: it ends before a probe would run. */
export function* noProbeErrors(container: Container, path: string): Findings {
  for (const name of ['lifecycle', ...probeNames] as const)
    if (container[name])
      yield forbidden(child(path, name), 'may not be set for init containers without restartPolicy=Always');
}

function* oneProbeErrors(name: ProbeName, probe: Probe, path: string, scope: ProbeScope): Findings {
  yield* handlerErrors(probe, path, scope);
  for (const count of counts) yield* negative(child(path, count), probe[count]);
  const grace = probe.terminationGracePeriodSeconds;
  const gracePath = child(path, 'terminationGracePeriodSeconds');
  if (grace !== undefined && grace <= 0) yield invalid(gracePath, grace, 'must be greater than 0');
  if (name === 'readinessProbe') {
    if (grace !== undefined) yield invalid(gracePath, grace, 'must not be set for readinessProbes');
  } else if (probe.successThreshold !== 1)
    yield invalid(child(path, 'successThreshold'), probe.successThreshold ?? 0, 'must be 1');
}

function* lifecycleErrors(lifecycle: Lifecycle, path: string, scope: ProbeScope): Findings {
  for (const name of ['postStart', 'preStop'] as const) {
    const handler = lifecycle[name];
    if (handler) yield* handlerErrors(handler, child(path, name), scope);
  }
  // The valid signals depend on the operating system of the pod.
  if (lifecycle.stopSignal !== undefined && !scope.osName)
    yield forbidden(child(path, 'stopSignal'), 'may not be set for containers with empty `spec.os.name`');
}

function* handlerErrors(handler: Handler, path: string, scope: ProbeScope): Findings {
  const given = handlerNames.filter((name) => handler[name]);
  const [first, ...more] = given;
  if (!first) return yield required(path, 'must specify a handler type');
  const actionPath = child(path, first);
  switch (first) {
    case 'exec':
      if (!handler.exec?.command?.length) yield required(child(actionPath, 'command'));
      break;
    case 'httpGet':
      yield* httpErrors(handler.httpGet!, actionPath);
      break;
    case 'tcpSocket':
    case 'grpc':
      yield* portErrors(handler[first]!.port, child(actionPath, 'port'));
      break;
    case 'sleep': {
      const seconds = handler.sleep?.seconds ?? 0;
      const grace = scope.gracePeriodSeconds;
      if (seconds < 0 || seconds > grace)
        yield invalid(
          child(actionPath, 'seconds'),
          seconds,
          `must be non-negative and less than terminationGracePeriodSeconds (${grace})`,
        );
    }
  }
  for (const name of more) yield forbidden(child(path, name), 'may not specify more than 1 handler type');
}

function* httpErrors(action: HTTPGetAction, path: string): Findings {
  if (!action.path) yield required(child(path, 'path'));
  yield* portErrors(action.port, child(path, 'port'));
  yield* choice(child(path, 'scheme'), action.scheme, schemes);
  for (const { name = '' } of action.httpHeaders ?? [])
    yield* problemsOf(child(path, 'httpHeaders'), name, isHttpHeaderName(name));
}

function* portErrors(port: number | string | undefined, path: string): Findings {
  if (typeof port === 'string') yield* problemsOf(path, port, isPortName(port));
  else yield* problemsOf(path, port ?? 0, isPortNumber(port ?? 0));
}
