/** What a provider of identities says about a person who logged in there. */
export interface Identity {
  /** Never changes; unique only within that provider. */
  readonly subject: string;
  /** For people, for example an e-mail address that the provider has verified. */
  readonly name: string;
  readonly groups: readonly string[];
  /** Secret to ask again; null if that is impossible. */
  readonly refreshToken: string | null;
}

/** Links the redirect to the provider with the one back. All fields are secrets. */
export interface Journey {
  readonly state: string;
  readonly nonce: string;
  /** PKCE code verifier: 43 characters. */
  readonly verifier: string;
}

/** A provider of identities, where people of an organisation log in. */
export interface Identities {
  /** Where to send the browser. @throws {Unreachable} the provider does not answer. {Denied} */
  begin(journey: Journey): Promise<URL>;
  /**
   * Returns who came back.
   * @param query of the URL that the browser was redirected to.
   * @throws {Unreachable} the provider does not answer. {Denied} the provider refuses, or its
   *   answer is invalid.
   */
  complete(query: URLSearchParams, journey: Journey): Promise<Identity>;
  /**
   * Asks again about a person who logged in before. A refresh token may be valid only once.
   * @returns null if the provider no longer lets the person in.
   * @throws {Unreachable} the provider does not answer. {Denied}
   */
  renew(known: Pick<Identity, 'subject'> & { refreshToken: string }): Promise<Identity | null>;
}
