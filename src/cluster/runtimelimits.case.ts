/** What a runtime cannot do, by the name of the behaviour, and why. `docs/runtimes.md` has the same list. */
export const runtimeLimits: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  process: {
    'limits rights: capabilities, a read-only root, no new privileges, users of the image':
      'processes have no image: there is no user of one to check',
  },
};
