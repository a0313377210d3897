/**
 * Edits an object in steps, each of which the server judges:
 *
 *   edit → review      a dry run: what would change, or what is wrong and where
 *   review → applied   the text replaces the object
 *   any → conflict     another writer was faster: both changes are merged, and the user decides where they collide
 */
import { useMemo, useState } from 'preact/hooks';
import { ApiError, ask } from '../../core/api.ts';
import { type Kind, pathOf } from '../../core/kinds.ts';
import type { ApiObject } from '../../core/objects.ts';
import { changeQuery } from '../../core/router.ts';
import { commandText } from '../../ui/command.ts';
import { Command } from '../../ui/command-line.tsx';
import { Diff } from '../../ui/diff.tsx';
import { Refusal } from '../../ui/refusal.tsx';
import type { TabProps } from '../tab.ts';
import { CodeEditor } from './code-editor.tsx';
import { Conflict } from './conflict.tsx';
import { type Draft, draftOf, dropDraft, keepDraft } from './drafts.ts';
import { Managers } from './managers.tsx';
import { editingText, withVersion } from './object-text.ts';
import { managersOf } from './owners.ts';
import { type Problem, problemsOf } from './problems.ts';
import { useSchema } from './schema.ts';

type Step =
  | { readonly name: 'edit' }
  | { readonly name: 'review'; readonly result: string }
  | { readonly name: 'conflict'; readonly latest: ApiObject };

export function Tab({ kind, object }: TabProps) {
  const editing = useEditing(kind, object);
  const { draft, step, error, problems, busy, change, restart, resolve, back, send } = editing;
  const { namespace, name, resourceVersion } = object.metadata;
  const schema = useSchema(kind);
  const owners = useMemo(
    () => ({ managers: managersOf(draft.base.metadata.managedFields), object: draft.base }),
    [draft.base],
  );
  if (step.name === 'conflict')
    return (
      <Conflict
        base={draft.baseText}
        mine={draft.text}
        theirs={editingText(kind, step.latest)}
        onResolve={(text) => resolve(step.latest, text)}
        onDiscard={restart}
      />
    );
  if (step.name === 'review')
    return (
      <div class="editing">
        <h2>What would change</h2>
        <Diff before={draft.baseText} after={step.result} />
        <Command lines={[commandText(['kubectl', 'edit', kind.id, name], namespace)]} />
        <div class="editbar">
          <button type="button" class="main" disabled={busy} onClick={() => void send(false)}>
            Apply
          </button>
          <button type="button" onClick={back}>
            Back to the text
          </button>
        </div>
      </div>
    );
  const isSame = draft.text === draft.baseText;
  return (
    <div class="editing">
      <div class="editbar">
        <button type="button" class="main" disabled={busy || isSame} onClick={() => void send(true)}>
          Review changes
        </button>
        <button type="button" disabled={isSame} onClick={restart}>
          Discard
        </button>
        <button type="button" title="Key y" onClick={() => changeQuery({ tab: 'yaml' }, true)}>
          Only read
        </button>
        {resourceVersion !== draft.base.metadata.resourceVersion && (
          <span class="quiet">The object has changed since you began; both changes will be merged.</span>
        )}
      </div>
      {error && (
        <Refusal
          error={error}
          what={problems.length ? 'The server would refuse this; see the marked lines.' : undefined}
        />
      )}
      <CodeEditor
        label="YAML to edit"
        text={draft.text}
        edition={editing.edition}
        onChange={(text) => change({ ...draft, text })}
        problems={problems}
        schema={schema}
        owners={owners}
      />
      <Managers managers={owners.managers} />
    </div>
  );
}

/** The text that is edited, the step it is in, and what leads to another. */
function useEditing(kind: Kind, object: ApiObject) {
  const { uid, namespace, name } = object.metadata;
  const [draft, setDraft] = useState<Draft>(() => draftOf(uid) ?? begin(kind, object));
  const [step, setStep] = useState<Step>({ name: 'edit' });
  const [error, setError] = useState<Error>();
  const [problems, setProblems] = useState<readonly Problem[]>([]);
  const [busy, setBusy] = useState(false);
  const [edition, setEdition] = useState(0);

  const back = (): void => setStep({ name: 'edit' });
  const change = (next: Draft): void => {
    setDraft(next);
    keepDraft(uid, next);
  };
  const restart = (): void => {
    dropDraft(uid);
    setDraft(begin(kind, object));
    setEdition(edition + 1);
    back();
    setError(undefined);
    setProblems([]);
  };
  const resolve = (latest: ApiObject, text: string): void => {
    change(begin(kind, latest, text));
    setEdition(edition + 1);
    back();
  };

  /** Sends the text; a refusal is shown where it belongs. */
  const send = async (dryRun: boolean): Promise<void> => {
    const { resourceVersion } = draft.base.metadata;
    const sent = withVersion(draft.text, resourceVersion);
    const path = pathOf(kind, namespace, name);
    setBusy(true);
    setError(undefined);
    setProblems([]);
    try {
      const result = await ask<ApiObject>(path, {
        method: 'PUT',
        body: sent.text,
        contentType: 'application/yaml',
        query: { fieldValidation: 'Strict', fieldManager: 'window', dryRun: dryRun ? 'All' : undefined },
      });
      if (dryRun) return setStep({ name: 'review', result: editingText(kind, result) });
      dropDraft(uid);
      changeQuery({ tab: 'yaml' }, true);
    } catch (refusal) {
      if (refusal instanceof ApiError && refusal.code === 409) {
        const latest = await ask<ApiObject>(path).catch(() => undefined);
        if (latest && latest.metadata.resourceVersion !== resourceVersion)
          return setStep({ name: 'conflict', latest });
      }
      back();
      setError(refusal as Error);
      setProblems(problemsOf(refusal as Error, draft.text, sent.added));
    } finally {
      setBusy(false);
    }
  };
  return { draft, step, error, problems, busy, edition, change, restart, resolve, back, send };
}

function begin(kind: Kind, base: ApiObject, text?: string): Draft {
  const baseText = editingText(kind, base);
  return { base, baseText, text: text ?? baseText };
}
