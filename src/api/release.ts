/** The release of Kubernetes that Wherry serves: told by `/version`, by nodes, and in user agents. */
export const release = 'v1.36.0+wherry';

/** How a part of a cluster says who it is: `kubelet/v1.36.0+wherry`. Field managers are named by what is before the slash. */
export const userAgentOf = (component: string): string => `${component}/${release}`;
