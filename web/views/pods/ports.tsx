/** The ports of a pod or service: links through the API server's proxy, and commands that forward a local port. */
import { token } from '../../core/credentials.ts';
import { kindOf, pathOf } from '../../core/kinds.ts';
import type { Json } from '../../core/objects.ts';
import { prefix } from '../../core/prefix.ts';
import { may } from '../../core/rights.ts';
import { commandText } from '../../ui/command.ts';
import { Command } from '../../ui/command-line.tsx';
import type { TabProps } from '../tab.ts';
import { containersOf } from './containers.ts';
import { canForward, ForwardPanel, type Forwards, type ForwardTarget, useForwards } from './forwards.tsx';

interface Port {
  readonly number: number;
  readonly name: string | undefined;
  readonly protocol: string;
  readonly of: string;
}

export function Tab({ kind, object }: TabProps) {
  const { namespace, name } = object.metadata;
  const ports = kind.id === 'services' ? servicePorts(object.spec) : podPorts(object);
  const forwards = useForwards();
  const target = { resource: kind.resource, namespace, name };
  const isOffered = canForward() && may('create', kindOf('pods'), { namespace, subresource: 'portforward' });
  const resource = kind.id === 'services' ? 'service' : 'pod';
  const address = ({ number }: Port, scheme: string): string =>
    `${prefix}${pathOf(kind, namespace, `${scheme}${name}:${number}`, 'proxy')}/`;
  return (
    <div class="panels">
      {token.value && (
        <p class="quiet">
          A link cannot carry the token you signed in with: these open only for users with a client
          certificate.
        </p>
      )}
      {isOffered && <ForwardPanel forwards={forwards} target={target} />}
      {ports.length === 0 && (
        <p class="quiet whole">It names no ports; a container may listen on some all the same.</p>
      )}
      {ports.map((port) => (
        <section key={`${port.of} ${port.number} ${port.protocol}`} class="panel">
          <h2>
            {port.number} {port.name && <span class="quiet">{port.name}</span>}
          </h2>
          <p class="quiet">
            {port.protocol} {port.of}
          </p>
          {port.protocol === 'TCP' && (
            <p>
              <a href={address(port, '')} target="_blank" rel="noopener noreferrer">
                Open by HTTP
              </a>
              {' · '}
              <a href={address(port, 'https:')} target="_blank" rel="noopener noreferrer">
                Open by HTTPS
              </a>
              {isOffered && <ForwardButton forwards={forwards} target={target} port={port.number} />}
            </p>
          )}
          {port.protocol === 'TCP' && (
            <Command
              lines={[
                commandText(
                  ['kubectl', 'port-forward', `${resource}/${name}`, `${localPort(port)}:${port.number}`],
                  namespace,
                ),
              ]}
            />
          )}
        </section>
      ))}
    </div>
  );
}

interface ForwardButtonProps {
  readonly forwards: Forwards;
  readonly target: ForwardTarget;
  readonly port: number;
}

const ForwardButton = ({ forwards, target, port }: ForwardButtonProps) => (
  <>
    {' · '}
    <button type="button" onClick={() => void forwards.open(target, port)}>
      Forward {port} to this machine
    </button>
  </>
);

/** A port that users may open: 8080 for 80, 8443 for 443. */
const localPort = ({ number }: Port): number => (number < 1024 ? 8000 + number : number);

const podPorts = (pod: TabProps['object']): readonly Port[] =>
  containersOf(pod).flatMap(({ name: of, ports }) =>
    ports.map(({ containerPort, name, protocol = 'TCP' }) => ({
      number: containerPort,
      name,
      protocol,
      of: `of the container ${of}`,
    })),
  );

const servicePorts = (spec: Json): readonly Port[] =>
  (Array.isArray(spec?.ports) ? (spec.ports as Json[]) : []).map(
    ({ port, name, protocol = 'TCP', targetPort }) => ({
      number: port,
      name,
      protocol,
      of: `to ${targetPort ?? port} of the pods`,
    }),
  );
