/** One object: its title, what can be done with it, and its tabs. */
import type { ComponentType } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useKeys } from '../../core/keys.ts';
import { type Kind, kindOf, pathOf } from '../../core/kinds.ts';
import { useLiveObjects } from '../../core/live.ts';
import { moment } from '../../core/moment.ts';
import { noNamespace } from '../../core/objects.ts';
import { may } from '../../core/rights.ts';
import { changeQuery, go, place } from '../../core/router.ts';
import { Age } from '../../ui/age.tsx';
import { Lazy } from '../../ui/lazy.tsx';
import { Link, listPlace } from '../../ui/link.tsx';
import { Refusal } from '../../ui/refusal.tsx';
import type { TabProps } from '../tab.ts';
import type { ViewProps } from '../view.ts';
import { ActionDialog } from './action-dialog.tsx';
import { type Action, actionsOf } from './actions.ts';
import { deletionOf } from './many-actions.ts';
import { type ObjectTab, tabsOf } from './tabs.ts';

export function View({ path: [id = '', within = noNamespace, name = ''] }: ViewProps) {
  const kind = kindOf(id);
  if (!kind)
    return <Refusal error={new Error(`The server has no kind ${id}.`)} what="There is no such kind." />;
  const namespace = within === noNamespace ? undefined : within;
  // Objects are read by lists, because only lists can show the past.
  if (!may('list', kind, { namespace, name })) {
    const why = 'You may not list it. An administrator can allow it by a role and a binding.';
    return <Refusal error={new Error(why)} what={`${kind.kind} ${name} cannot be shown.`} />;
  }
  return <ObjectPage key={`${id} ${within} ${name}`} kind={kind} namespace={namespace} name={name} />;
}

interface ObjectPageProps {
  readonly kind: Kind;
  readonly namespace: string | undefined;
  readonly name: string;
}

function ObjectPage({ kind, namespace, name }: ObjectPageProps) {
  const live = useLiveObjects(pathOf(kind, namespace), { fieldSelector: `metadata.name=${name}` });
  const tabs = tabsOf(kind, moment.value !== undefined, namespace);
  const tab = tabs.find(({ id }) => id === place.value.query.get('tab')) ?? tabs[0]!;
  const [acting, setActing] = useState<Action | 'delete'>();
  useKeys([
    ...tabs.flatMap(({ id, title, key }) =>
      key ? [{ key, does: `show ${title}`, run: () => changeQuery({ tab: id }, true) }] : [],
    ),
    { key: 'Escape', does: `go to the list of ${kind.resource}`, run: () => go(listPlace(kind)) },
  ]);
  const object = live.items.value[0];
  return (
    <>
      <div class="titleline">
        <Link to={listPlace(kind)}>{kind.kind}</Link>
        <h1>{name}</h1>
        {namespace && <span class="quiet">in {namespace}</span>}
        {object?.metadata.deletionTimestamp && <span class="badge warn">being deleted</span>}
        <span class="quiet">
          <Age since={object?.metadata.creationTimestamp} />
        </span>
        <span class="gap" />
        {object && moment.value === undefined && <Actions kind={kind} object={object} act={setActing} />}
      </div>
      {live.error.value && (
        <Refusal error={live.error.value} what={`${kind.kind} ${name} cannot be shown.`} />
      )}
      {!object && live.state.value !== 'loading' && !live.error.value && (
        <p class="waiting">
          {moment.value === undefined
            ? `There is no ${kind.kind} ${name}, or not any more.`
            : `There was no ${kind.kind} ${name} at that time.`}
        </p>
      )}
      {object && (
        <>
          <TabList tabs={tabs} shown={tab} />
          <Lazy
            load={loaderOf(tab)}
            props={{
              kind,
              object: { ...object, kind: kind.kind },
              mayEdit: tabs.some(({ id }) => id === 'edit'),
            }}
          />
          {acting && (
            <ActionDialog
              title={acting === 'delete' ? `Delete ${kind.kind} ${name}?` : `${acting.title} ${name}`}
              load={async () =>
                acting === 'delete'
                  ? deletionOf({
                      kind,
                      rows: [{ namespace, name, uid: object.metadata.uid }],
                      whole: new Set(),
                    })
                  : acting.plan({ kind, object })
              }
              onClose={() => setActing(undefined)}
            />
          )}
        </>
      )}
    </>
  );
}

interface ActionsProps extends TabProps {
  readonly act: (action: Action | 'delete') => void;
}

const Actions = ({ kind, object, act }: ActionsProps) => (
  <div class="actions">
    {actionsOf({ kind, object }).map((action) => (
      <button key={action.id} type="button" onClick={() => act(action)}>
        {action.title}
      </button>
    ))}
    {kind.verbs.has('delete') && may('delete', kind, object.metadata) && (
      <button type="button" class="danger" onClick={() => act('delete')}>
        Delete
      </button>
    )}
  </div>
);

function TabList({ tabs, shown }: { readonly tabs: readonly ObjectTab[]; readonly shown: ObjectTab }) {
  const box = useRef<HTMLDivElement>(null);
  const current = shown.within ?? shown.id;
  // On a narrow screen there are more than fit.
  useEffect(
    () => box.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' }),
    [current],
  );
  return (
    <div class="tabs" role="tablist" ref={box}>
      {tabs
        .filter(({ within }) => !within)
        .map(({ id, title, key }) => (
          <button
            key={id}
            type="button"
            role="tab"
            aria-selected={id === current}
            title={key && `Key ${key}`}
            onClick={() => changeQuery({ tab: id === 'summary' ? undefined : id }, true)}
          >
            {title}
          </button>
        ))}
    </div>
  );
}

const loaders = new Map<string, () => Promise<ComponentType<TabProps>>>();

function loaderOf({ id, load }: ObjectTab): () => Promise<ComponentType<TabProps>> {
  let loader = loaders.get(id);
  if (!loader) {
    loader = () => load().then(({ Tab }) => Tab);
    loaders.set(id, loader);
  }
  return loader;
}
