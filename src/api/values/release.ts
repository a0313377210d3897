/** The Kubernetes release that Wherry implements: shown by `/version`, by nodes, and in user agents. */
export const release = 'v1.36.0+wherry';

/** Ends the release of every part of Wherry, whatever minor it is asked to be. */
export const releaseSuffix = '+wherry';

/** The user agent of a component: `kubelet/v1.36.0+wherry`. The part before the slash becomes its field manager. */
export const userAgentOf = (component: string, its: string = release): string => `${component}/${its}`;
