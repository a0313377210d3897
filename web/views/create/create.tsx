/** Creates objects: from YAML, or by a form that is made from the schema of the kind. */
import { useMemo, useState } from 'preact/hooks';
import { type Kind, kindOf, kinds } from '../../core/kinds.ts';
import { changeQuery, go, place } from '../../core/router.ts';
import type { KindSchema } from '../../core/schema.ts';
import { adoptStyle } from '../../ui/adopted-style.ts';
import { Command } from '../../ui/command-line.tsx';
import { objectPlace } from '../../ui/link.tsx';
import { Refusal } from '../../ui/refusal.tsx';
import { CodeEditor } from '../editor/code-editor.tsx';
import { type Problem, problemsOf } from '../editor/problems.ts';
import { useSchema } from '../editor/schema.ts';
import type { ViewProps } from '../view.ts';
import css from './create.css' with { type: 'text' };
import { createAll, DocumentError } from './creation.ts';
import { type CreationDraft, useCreationDraft } from './creation-draft.ts';
import { Field } from './field.tsx';
import { hasExample, type TemplateName } from './templates.ts';

adoptStyle(css);

export function View({ path: [id = 'pods'] }: ViewProps) {
  const kind = kindOf(id);
  if (!kind)
    return <Refusal error={new Error(`The server has no kind ${id}.`)} what="There is no such kind." />;
  // Another template begins anew.
  return <Creating key={`${kind.id} ${place.value.query.get('from')}`} kind={kind} />;
}

function Creating({ kind }: { readonly kind: Kind }) {
  const schema = useSchema(kind);
  const namespace = place.value.query.get('ns') ?? 'default';
  const byForm = place.value.query.get('by') === 'form';
  const template = hasExample(kind) && place.value.query.get('from') === 'example' ? 'example' : 'small';
  const draft = useCreationDraft(kind, namespace, schema, byForm, template);
  const { text } = draft;
  const { error, problems, passed, send } = useSending(text, namespace);
  const byField = useMemo(() => messagesByField(problems), [problems]);
  return (
    <>
      <div class="titleline">
        <h1>Create</h1>
        <KindChoice kind={kind} byForm={byForm} />
        {hasExample(kind) && <TemplateChoice template={template} />}
        <WayChoice byForm={byForm} />
        <span class="gap" />
        <button type="button" onClick={() => void send(true)}>
          Check
        </button>
        <button type="button" class="main" onClick={() => void send(false)}>
          Create
        </button>
      </div>
      {passed && (
        <p class="good" role="status">
          The server would accept this.
        </p>
      )}
      {error && <Refusal error={error} what="The server would not accept this." />}
      {byForm ? (
        <div class="creating">
          <div class="form">
            <FormOf kind={kind} schema={schema} draft={draft} problems={byField} />
          </div>
          <div class="editing">
            <CodeEditor label="YAML of the form" text={text} schema={schema} problems={problems} />
          </div>
        </div>
      ) : (
        <div class="editing">
          <CodeEditor
            label="YAML to create"
            text={text}
            edition={draft.edition}
            onChange={draft.type}
            schema={schema}
            problems={problems}
          />
        </div>
      )}
      <details class="folded">
        <summary>The same with kubectl</summary>
        <Command lines={["kubectl create -f - <<'EOF'", text.trimEnd(), 'EOF']} />
      </details>
    </>
  );
}

/** Sends the text, as a dry run or for real; says whether it passed, or what is wrong and where. */
function useSending(text: string, namespace: string) {
  const [error, setError] = useState<Error>();
  const [problems, setProblems] = useState<readonly Problem[]>(none);
  const [passed, setPassed] = useState(false);
  const send = async (dryRun: boolean): Promise<void> => {
    setError(undefined);
    setProblems(none);
    setPassed(false);
    try {
      const created = await createAll(text, namespace, dryRun);
      if (dryRun) return setPassed(true);
      const { kind: made, object: first } = created[0]!;
      go(objectPlace(kindOf(made.id) ?? made, first.metadata.namespace, first.metadata.name));
    } catch (refusal) {
      const {
        reason,
        text: document,
        offset,
      } = refusal instanceof DocumentError ? refusal : { reason: refusal as Error, text, offset: 0 };
      setError(reason);
      setProblems(
        problemsOf(reason, document).map(({ line, ...rest }) => ({ line: line + offset, ...rest })),
      );
    }
  };
  return { error, problems, passed, send };
}

const messagesByField = (problems: readonly Problem[]): ReadonlyMap<string, string> =>
  new Map(
    problems.flatMap(({ message }) => {
      const [, field, words] = /^([^\s:]+): (.*)$/s.exec(message) ?? [];
      return field && words ? [[field, words] as const] : [];
    }),
  );

const KindChoice = ({ kind, byForm }: { readonly kind: Kind; readonly byForm: boolean }) => (
  <select
    aria-label="Kind"
    value={kind.id}
    onChange={({ currentTarget }) => go(['create', currentTarget.value], { by: byForm ? 'form' : undefined })}
  >
    {(kinds.value ?? [])
      .filter(({ verbs }) => verbs.has('create') && verbs.has('list'))
      .map((each) => (
        <option key={each.id} value={each.id}>
          {each.kind} {each.group && `(${each.group})`}
        </option>
      ))}
  </select>
);

const TemplateChoice = ({ template }: { readonly template: TemplateName }) => (
  <select
    aria-label="Template"
    value={template}
    onChange={({ currentTarget: { value } }) =>
      changeQuery({ from: value === 'example' ? value : undefined })
    }
  >
    <option value="small">Smallest</option>
    <option value="example">Example with more</option>
  </select>
);

const WayChoice = ({ byForm }: { readonly byForm: boolean }) => (
  <div class="ways" role="tablist" aria-label="How">
    <button type="button" role="tab" aria-selected={!byForm} onClick={() => changeQuery({ by: undefined })}>
      YAML
    </button>
    <button type="button" role="tab" aria-selected={byForm} onClick={() => changeQuery({ by: 'form' })}>
      Form
    </button>
  </div>
);

interface FormProps {
  readonly kind: Kind;
  readonly schema: KindSchema | undefined;
  readonly draft: CreationDraft;
  readonly problems: ReadonlyMap<string, string>;
}

function FormOf({ kind, schema, draft, problems }: FormProps) {
  const { object, change, refusal, hasComments } = draft;
  if (refusal) return <Refusal error={refusal} what="The form cannot show this text; change it as YAML." />;
  if (!schema) return <p class="waiting">The server has no schema for this kind, or has not sent it yet.</p>;
  return (
    <>
      {hasComments && <p class="quiet">A change made here writes the text anew, without its comments.</p>}
      <Field
        form={{ schemas: schema, problems, change }}
        name={kind.kind}
        schema={schema.root}
        value={object}
        path={[]}
      />
    </>
  );
}

const none: readonly Problem[] = [];
