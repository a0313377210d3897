/** Links to places of the dashboard. */
import type { ComponentChildren } from 'preact';
import type { Kind } from '../core/kinds.ts';
import { noNamespace } from '../core/objects.ts';
import { addressOf, type Changes } from '../core/router.ts';

export const listPlace = (kind: Kind): string[] => ['list', kind.id];

export const objectPlace = (kind: Kind, namespace: string | undefined, name: string): string[] => [
  'object',
  kind.id,
  namespace ?? noNamespace,
  name,
];

interface LinkProps {
  readonly to: readonly string[];
  readonly query?: Changes;
  readonly class?: string;
  readonly current?: boolean;
  readonly children: ComponentChildren;
}

export const Link = ({ to, query, current, children, ...rest }: LinkProps) => (
  <a href={addressOf(to, query)} aria-current={current ? 'page' : undefined} {...rest}>
    {children}
  </a>
);

interface ObjectLinkProps {
  readonly kind: Kind;
  readonly namespace?: string;
  readonly name: string;
  readonly tab?: string;
  readonly children?: ComponentChildren;
}

/** A link to an object among others: with its namespace, unless all of them are of the one that is shown. */
export const FullLink = ({ within, ...rest }: ObjectLinkProps & { readonly within: string | undefined }) => (
  <ObjectLink {...rest}>
    {rest.namespace && rest.namespace !== within && <span class="quiet">{rest.namespace}/</span>}
    {rest.name}
  </ObjectLink>
);

export const ObjectLink = ({ kind, namespace, name, tab, children }: ObjectLinkProps) => (
  <Link to={objectPlace(kind, namespace, name)} query={{ tab }}>
    {children ?? name}
  </Link>
);
