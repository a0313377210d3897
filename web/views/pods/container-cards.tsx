/** The containers of a pod, those that fail first: state, last end, what runs them, use against bounds, probes, last lines. */
import type { ApiObject, Json } from '../../core/objects.ts';
import { bytesText, coresText, quantity } from '../../core/quantity.ts';
import { Age, ageText } from '../../ui/age.tsx';
import { ShareBar } from '../../ui/bar.tsx';
import { Breakable } from '../../ui/breakable.tsx';
import { toneOf, usageTone } from '../../ui/tone.ts';
import { LastLines } from './last-lines.tsx';
import { type Figures, usePodFigures } from './pod-figures.ts';
import { endWords, podSentence, probeWords, runtimeWords, waitingWords } from './pod-words.ts';

interface Card {
  readonly container: Json;
  readonly status: Json;
  readonly role: string;
}

interface ContainerCardsProps {
  readonly pod: ApiObject;
  /** Events about the pod, the latest first: they say why probes fail. */
  readonly events: readonly ApiObject[];
}

export function ContainerCards({ pod, events }: ContainerCardsProps) {
  const { spec, status } = pod;
  const figures = usePodFigures(pod);
  const cards = [
    ...cardsOf(spec?.initContainers, status?.initContainerStatuses, 'init'),
    ...cardsOf(spec?.containers, status?.containerStatuses, ''),
    ...cardsOf(spec?.ephemeralContainers, status?.ephemeralContainerStatuses, 'ephemeral'),
  ];
  // The order of the pod, with those that fail before the others.
  const order = [...cards.filter(isFailing), ...cards.filter((card) => !isFailing(card))];
  return (
    <>
      {order.map((card) => (
        <ContainerCard
          key={card.container.name}
          pod={pod}
          card={card}
          figures={figures.get(card.container.name)}
          events={events.filter(({ involvedObject }) =>
            involvedObject?.fieldPath?.endsWith(`{${card.container.name}}`),
          )}
        />
      ))}
    </>
  );
}

const cardsOf = (containers: Json[] = [], statuses: Json[] = [], role: string): Card[] =>
  containers.map((container) => ({
    container,
    role: role === 'init' && container.restartPolicy === 'Always' ? 'sidecar' : role,
    status: statuses.find(({ name }) => name === container.name),
  }));

const isFailing = ({ status }: Card): boolean =>
  Boolean(status?.state?.terminated?.exitCode) ||
  toneOf(status?.state?.waiting?.reason ?? '') === 'bad' ||
  (status?.state?.running && status.ready === false);

interface ContainerCardProps {
  readonly pod: ApiObject;
  readonly card: Card;
  readonly figures: Figures | undefined;
  readonly events: readonly ApiObject[];
}

function ContainerCard({ pod, card: { container, status, role }, figures, events }: ContainerCardProps) {
  const { state, lastState, restartCount = 0 } = status ?? {};
  const waiting = state?.waiting && waitingWords(state.waiting);
  // The sentence about the pod may have said it.
  const isSaid = waiting !== undefined && podSentence(pod)?.includes(waiting.split(': ').at(-1)!);
  return (
    <section class="panel container">
      <h2>
        {container.name} {role && <span class="quiet">{role}</span>}{' '}
        <State of={state} ready={status?.ready} />
      </h2>
      {waiting && !isSaid && <p class={waiting === state.waiting.message ? 'bad' : 'quiet'}>{waiting}</p>}
      <dl class="facts">
        {lastState?.terminated && (
          <Row label="Last state">
            {endWords(lastState.terminated)} <Lived terminated={lastState.terminated} />
          </Row>
        )}
        {state?.terminated && (
          <Row label="Ended">
            {endWords(state.terminated)} <Lived terminated={state.terminated} />
          </Row>
        )}
        <Row label="Restarts">{restartCount}</Row>
        <Row label="Image">
          <Breakable text={container.image ?? ''} />
        </Row>
        {status?.containerID && <Row label="Runs as">{runtimeWords(status.containerID)}</Row>}
        <Probes container={container} events={events} />
      </dl>
      <Use label="CPU" used={figures?.cores} of={container.resources} what="cpu" format={coresText} />
      <Use label="Memory" used={figures?.bytes} of={container.resources} what="memory" format={bytesText} />
      {status && <LastLines pod={pod} status={status} />}
    </section>
  );
}

const Row = ({
  label,
  children,
}: {
  readonly label: string;
  readonly children: preact.ComponentChildren;
}) => (
  <div>
    <dt>{label}</dt>
    <dd>{children}</dd>
  </div>
);

function State({ of, ready }: { readonly of: Json; readonly ready: boolean | undefined }) {
  const [name, detail] = (Object.entries(of ?? { waiting: {} })[0] ?? []) as [string, Json];
  const text = detail?.reason ?? name;
  return (
    <>
      <span class={`badge ${toneOf(text) ?? ''}`}>{text}</span>{' '}
      {of?.running && ready === false && <span class="badge warn">not ready</span>}{' '}
      <span class="quiet small">
        <Age since={detail?.finishedAt ?? detail?.startedAt} />
      </span>
    </>
  );
}

/** When a run ended, and how long it was. */
function Lived({ terminated: { startedAt, finishedAt } }: { readonly terminated: Json }) {
  if (!finishedAt) return null;
  const began = Date.parse(startedAt ?? '');
  return (
    <span class="quiet">
      <Age since={finishedAt} /> ago
      {began > 0 && `, after ${ageText(began, Date.parse(finishedAt))}`}
    </span>
  );
}

const probes = [
  ['startupProbe', 'Startup', /^Startup/],
  ['readinessProbe', 'Readiness', /^Readiness/],
  ['livenessProbe', 'Liveness', /^Liveness/],
] as const;

/** Probes, and what the last failure of each was. */
const Probes = ({
  container,
  events,
}: {
  readonly container: Json;
  readonly events: readonly ApiObject[];
}) => (
  <>
    {probes.map(([field, label, begins]) => {
      if (!container[field]) return null;
      const failure = events.find(
        ({ reason, message }) => reason === 'Unhealthy' && begins.test(message ?? ''),
      );
      return (
        <Row key={field} label={label}>
          {probeWords(container[field])}
          {failure && (
            <span class="bad">
              {' '}
              {failure.message}
              {failure.count > 1 && ` (${failure.count} times)`}
            </span>
          )}
        </Row>
      );
    })}
  </>
);

interface UseProps {
  readonly label: string;
  readonly used: number | undefined;
  readonly of: Json;
  readonly what: string;
  readonly format: (value: number) => string;
}

/** What is used, against the limit, or what was asked for where there is no limit. */
function Use({ label, used, of, what, format }: UseProps) {
  const request = of?.requests?.[what];
  const limit = of?.limits?.[what];
  const bounds = [request && `asks for ${request}`, limit && `at most ${limit}`].filter(Boolean).join(', ');
  if (used === undefined && !bounds) return null;
  const whole = quantity(limit ?? request) || 0;
  const text = [used === undefined ? '' : format(used), bounds].filter(Boolean).join(' · ');
  if (whole === 0)
    return (
      <p class="unbounded">
        <span class="quiet">{label}</span> {text}
      </p>
    );
  return (
    <ShareBar
      label={label}
      part={used ?? 0}
      whole={whole}
      text={text}
      tone={limit ? usageTone(used ?? 0, whole) : undefined}
    />
  );
}
