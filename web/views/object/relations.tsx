/** The family of an object as a tree, and what else belongs to it. */
import { useEffect, useState } from 'preact/hooks';
import type { Kind } from '../../core/kinds.ts';
import { moment } from '../../core/moment.ts';
import type { ApiObject } from '../../core/objects.ts';
import { FullLink } from '../../ui/link.tsx';
import { toneOf } from '../../ui/tone.ts';
import { type FamilyMember, familyOf } from './family.ts';
import { type Relative, type RelativeGroup, relativesOf } from './related.ts';

const refreshMs = 5_000;
/** Pods have a table of their own. */
const membersMax = 10;

interface Relations {
  readonly family: FamilyMember | undefined;
  readonly groups: readonly RelativeGroup[];
}

export function RelationPanels({ kind, object }: { readonly kind: Kind; readonly object: ApiObject }) {
  const relations = useRelations(kind, object);
  return (
    <>
      {relations && relations.groups.length > 0 && (
        <section class="panel">
          <h2>Related</h2>
          {relations.groups.map(({ title, members }) => (
            <div key={title} class="related">
              <h3>
                {title} {members.length > 1 && <span class="quiet">{members.length}</span>}
              </h3>
              <ul>
                {problemsFirst(members)
                  .slice(0, membersMax)
                  .map((member) => (
                    <li key={`${member.namespace} ${member.name}`}>
                      <Member member={member} within={object.metadata.namespace} />
                    </li>
                  ))}
                {members.length > membersMax && <li class="quiet">and {members.length - membersMax} more</li>}
              </ul>
            </div>
          ))}
        </section>
      )}
      {relations?.family && (
        <section class="panel">
          <h2>Owned by, and owns</h2>
          <ul class="tree">
            <Branch member={relations.family} within={object.metadata.namespace} />
          </ul>
        </section>
      )}
    </>
  );
}

/** Asked for anew when the object changes and every few seconds, while the dashboard is looked at. */
function useRelations(kind: Kind, object: ApiObject): Relations | undefined {
  const [relations, setRelations] = useState<Relations>();
  const at = moment.value;
  const { uid, resourceVersion, namespace, name } = object.metadata;
  useEffect(() => {
    let shown = true;
    const look = async (): Promise<void> => {
      const [family, groups] = await Promise.all([
        familyOf(object, { kind, namespace, name }, at),
        relativesOf(object, at),
      ]);
      if (shown) setRelations({ family, groups });
    };
    void look();
    const timer = setInterval(
      () => document.visibilityState === 'visible' && at === undefined && void look(),
      refreshMs,
    );
    return () => {
      shown = false;
      clearInterval(timer);
    };
  }, [uid, resourceVersion, at]);
  return relations;
}

const ranks: Readonly<Record<string, number>> = { bad: 0, warn: 1 };

const problemsFirst = <Kin extends Relative>(members: readonly Kin[]): readonly Kin[] =>
  members
    .map((member) => ({ member, rank: ranks[toneOf(member.note ?? '') ?? ''] ?? 2 }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ member }) => member);

/** The namespace of the object itself is known. */
interface MemberProps<Kin> {
  readonly member: Kin;
  readonly within: string | undefined;
}

function Member({ member, within }: MemberProps<Relative>) {
  return (
    <>
      <FullLink kind={member.kind} within={within} namespace={member.namespace} name={member.name} />
      {member.note && <span class={`note ${toneOf(member.note) ?? 'quiet'}`}>{member.note}</span>}
    </>
  );
}

function Branch({ member, within }: MemberProps<FamilyMember>) {
  return (
    <li>
      <span class="quiet">{member.kind.kind}</span>{' '}
      {member.isSelf ? <strong>{member.name}</strong> : <Member member={member} within={within} />}
      {member.children.length > 0 && (
        <ul>
          {problemsFirst(member.children)
            .slice(0, membersMax)
            .map((child) => (
              <Branch
                key={`${child.kind.id} ${child.namespace} ${child.name}`}
                member={child}
                within={within}
              />
            ))}
          {member.children.length > membersMax && (
            <li class="quiet">and {member.children.length - membersMax} more</li>
          )}
        </ul>
      )}
    </li>
  );
}
