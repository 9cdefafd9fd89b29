/** What a provider of identities says of somebody who logged in there. */
export interface Identity {
  /** Never changes, and means something to that provider alone. */
  readonly subject: string;
  /** For people, such as an address of e-mail that the provider has checked. */
  readonly name: string;
  readonly groups: readonly string[];
  /** With what it can be asked again; null: it cannot. A secret. */
  readonly refreshToken: string | null;
}

/** What ties a way to the provider to the way back. All of them are secrets that nobody can guess. */
export interface Journey {
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE: 43 characters. */
  readonly verifier: string;
}

/** A provider of identities: where people log in who belong to an organisation. */
export interface Identities {
  /** Where a browser is sent. @throws {Unreachable} the provider does not answer. {Denied} */
  begin(journey: Journey): Promise<URL>;
  /**
   * Who came back.
   * @param query of the address to which the browser was sent back.
   * @throws {Unreachable} the provider does not answer. {Denied} it, or what it says, is not in order.
   */
  complete(query: URLSearchParams, journey: Journey): Promise<Identity>;
  /**
   * Asks again of somebody who logged in before. A refresh token may be good for once.
   * @returns null: the provider lets them in no more.
   * @throws {Unreachable} the provider does not answer. {Denied}
   */
  renew(known: Pick<Identity, 'subject'> & { refreshToken: string }): Promise<Identity | null>;
}
