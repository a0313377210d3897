/** What a view is given: the segments of the address behind its own name. */
export interface ViewProps {
  readonly path: readonly string[];
}
