/** What is chosen above a log, and kept in the address: pod, container, lines, search; and the line below the log. */
import type { RefObject } from 'preact';
import { changeQuery, place } from '../../core/router.ts';
import type { Container } from '../pods/containers.ts';

const tails = [1_000, 10_000, 100_000];
const defaultTail = 10_000;

/** What the address says is to be shown. */
export interface LogWish {
  /** The pod of a workload; '' for all. */
  readonly pod: string;
  /** The container; '' for all. */
  readonly container: string;
  readonly previous: boolean;
  readonly follow: boolean;
  readonly tail: number;
  readonly withTimes: boolean;
  readonly withColumns: boolean;
  readonly find: string;
}

export function logWish(): LogWish {
  const { query } = place.value;
  const previous = query.get('previous') === 'yes';
  return {
    pod: query.get('pod') ?? '',
    container: query.get('container') ?? '',
    previous,
    follow: !previous && query.get('follow') !== 'no',
    tail: Number(query.get('tail')) || defaultTail,
    withTimes: query.get('times') !== 'no',
    withColumns: query.get('columns') !== 'no',
    find: query.get('find') ?? '',
  };
}

interface ChoicesProps {
  /** Names of the pods of a workload; undefined for a single pod. */
  readonly pods: readonly string[] | undefined;
  readonly containers: readonly Pick<Container, 'name' | 'type'>[];
  readonly wish: LogWish;
}

export const Choices = ({ pods, containers, wish }: ChoicesProps) => (
  <>
    {pods && (
      <select
        aria-label="Pod"
        value={wish.pod}
        onChange={({ currentTarget }) => changeQuery({ pod: currentTarget.value })}
      >
        <option value="">All pods ({pods.length})</option>
        {pods.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    )}
    <select
      aria-label="Container"
      value={wish.container}
      onChange={({ currentTarget }) => changeQuery({ container: currentTarget.value })}
    >
      <option value="">All containers</option>
      {containers.map(({ name, type }) => (
        <option key={name} value={name}>
          {name}
          {type === 'main' ? '' : ` (${type})`}
        </option>
      ))}
    </select>
    <select
      aria-label="Lines"
      value={String(wish.tail)}
      onChange={({ currentTarget: { value } }) =>
        changeQuery({ tail: Number(value) === defaultTail ? undefined : value })
      }
    >
      {tails.map((count) => (
        <option key={count} value={count}>
          last {count.toLocaleString('en')}
        </option>
      ))}
    </select>
    <Choice
      label="Follow"
      isOn={wish.follow}
      change={(on) => changeQuery({ follow: on ? undefined : 'no', previous: undefined })}
    />
    <Choice
      label="Previous"
      isOn={wish.previous}
      change={(on) => changeQuery({ previous: on ? 'yes' : undefined })}
    />
    <Choice
      label="Times"
      isOn={wish.withTimes}
      change={(on) => changeQuery({ times: on ? undefined : 'no' })}
    />
    <Choice
      label="Columns"
      isOn={wish.withColumns}
      change={(on) => changeQuery({ columns: on ? undefined : 'no' })}
    />
  </>
);

export const Search = ({
  field,
  text,
}: {
  readonly field: RefObject<HTMLInputElement | null>;
  readonly text: string;
}) => (
  <input
    ref={field}
    type="search"
    class="search"
    placeholder="Search ( / )"
    aria-label="Search the log"
    value={text}
    onInput={({ currentTarget }) => changeQuery({ find: currentTarget.value })}
    onKeyDown={(event) => {
      if (event.key === 'Escape' || event.key === 'Enter') event.currentTarget.blur();
    }}
  />
);

interface LogFootProps {
  readonly text: string;
  /** Undefined when the end is shown. */
  readonly toEnd: (() => void) | undefined;
}

export const LogFoot = ({ text, toEnd }: LogFootProps) => (
  <div class="logfoot">
    <span class="quiet" role="status">
      {text}
    </span>
    <span class="gap" />
    {toEnd && (
      <button type="button" onClick={toEnd}>
        To the end
      </button>
    )}
  </div>
);

interface ChoiceProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly change: (on: boolean) => void;
}

const Choice = ({ label, isOn, change }: ChoiceProps) => (
  <label class="choice">
    <input type="checkbox" checked={isOn} onChange={({ currentTarget }) => change(currentTarget.checked)} />
    {label}
  </label>
);
