/** Put in place when the program is bundled. */
declare const SHEPHERD_VERSION: string;

/** What the agent calls itself, such as `shepherd-agent/0.1.0`. */
export const agentVersion = `shepherd-agent/${
  typeof SHEPHERD_VERSION === 'undefined' ? 'source' : SHEPHERD_VERSION
}`;
