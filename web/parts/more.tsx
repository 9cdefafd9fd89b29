interface Paged {
  readonly hasNextPage: boolean;
  readonly isFetchingNextPage: boolean;
  fetchNextPage(): Promise<unknown>;
}

/** The button below a list that is told in pages, as long as there is another one. */
export const More = ({ query, text }: { readonly query: Paged; readonly text: string }) =>
  query.hasNextPage && (
    <p>
      <button
        type="button"
        disabled={query.isFetchingNextPage}
        onClick={() => void query.fetchNextPage()}
      >
        {text}
      </button>
    </p>
  );
