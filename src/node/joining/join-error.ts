/** A node cannot join its cluster; the message is a sentence for the operator. */
export class JoinError extends Error {}
