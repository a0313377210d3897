/** The containers of a pod: image, state, restarts, resources. */
import type { ApiObject, Json } from '../../core/objects.ts';
import { Age } from '../../ui/age.tsx';
import { toneOf } from '../../ui/tone.ts';

export function Containers({ object: { spec, status } }: { readonly object: ApiObject }) {
  const list: { container: Json; state: Json; role: string }[] = [
    ...withState(spec?.initContainers, status?.initContainerStatuses, 'init'),
    ...withState(spec?.containers, status?.containerStatuses, ''),
    ...withState(spec?.ephemeralContainers, status?.ephemeralContainerStatuses, 'ephemeral'),
  ];
  return (
    <section class="panel whole">
      <h2>Containers</h2>
      <table class="simple">
        <thead>
          <tr>
            <th>Name</th>
            <th>State</th>
            <th>Restarts</th>
            <th>Image</th>
            <th>Requests</th>
            <th>Limits</th>
          </tr>
        </thead>
        <tbody>
          {list.map(({ container, state, role }) => (
            <tr key={container.name}>
              <td>
                {container.name} {role && <span class="quiet">{role}</span>}
              </td>
              <td>
                <State of={state?.state} />
              </td>
              <td>{state?.restartCount ?? 0}</td>
              <td>{container.image}</td>
              <td>{resources(container.resources?.requests)}</td>
              <td>{resources(container.resources?.limits)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function withState(containers: Json[] = [], statuses: Json[] = [], role: string) {
  return containers.map((container) => ({
    container,
    state: statuses.find(({ name }) => name === container.name),
    role,
  }));
}

const resources = (of: Json): string =>
  Object.entries(of ?? {})
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');

function State({ of }: { readonly of: Json }) {
  const [name, detail] = (Object.entries(of ?? {})[0] ?? ['unknown', {}]) as [string, Json];
  const text = detail?.reason ?? name;
  return (
    <>
      <span class={`badge ${toneOf(text) ?? ''}`} title={detail?.message}>
        {text}
      </span>{' '}
      <span class="quiet">
        <Age since={detail?.startedAt ?? detail?.finishedAt} />
        {detail?.exitCode ? ` exit ${detail.exitCode}` : ''}
      </span>
    </>
  );
}
