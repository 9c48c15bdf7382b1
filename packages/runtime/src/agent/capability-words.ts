/** Words of tool names and descriptions, by what a tool that bears them does. Verbs in their base form. Pure data. */

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter((word) => word !== ''));

export const readingWords = words(`
  analyse analyze ask browse calculate cat check classify compare compute contains count decode describe detect diff
  echo estimate evaluate examine exists explain export extract fetch find get glob grep head health help hover inspect
  introspect is list load lookup ls measure open parse peek ping preview print query read recall recommend resolve
  retrieve return scan screenshot scrape search select show snapshot stat stats status suggest summarise summarize
  tail test think thinking translate tree validate verify view wait watch whoami
`);

export const writingWords = words(`
  add allow annotate append apply approve archive assign attach backup block book branch build buy change checkout
  checkpoint click clone close comment commit compile configure connect convert copy create cut define delegate deny
  deploy disable drag edit enable enqueue fill fork format generate grant import increment index init initialize insert
  install invite invoke join label launch like link lock login make mark memorize merge mkdir modify mount move
  navigate notify order patch pause pay pin post press provision publish pull push put rebase record register release
  remember rename reopen replace reply resize restart resume review save schedule select_option send set share sign
  start stash stop store submit subscribe switch sync tag toggle touch transfer transition trigger tweet type unarchive
  unblock unlink unlock unpin unsubscribe update upgrade upload upsert vote write
`);

/** Deeds that take something away for good. */
export const destructiveWords = words(`
  abort cancel clear delete destroy discard drop empty erase evict expire flush forget kill nuke overwrite prune purge
  remove reset revert revoke rm rmdir rollback shred shutdown terminate truncate uninstall unset wipe
`);

/** Whatever is given to them runs: nothing is known about what it does. */
export const executingWords = words(`
  bash cmd eval exec execute powershell run shell spawn sudo terminal
`);

export const networkWords = words(`
  api browser crawl curl dns download email fetch http https internet mail navigate online publish scrape send slack sms
  tweet upload url web webhook website www
`);

/**
 * Words above that are things as often as deeds (`get_commit`, `list_workflow_runs`). In a name they count as deeds only
 * where no other word is one; in a sentence only as its first word.
 */
export const alsoThings = words(`
  block book branch build change check checkpoint comment commit copy count draft drag export fork format health help
  import index label like link move order patch pin post preview print pull query record release review run
  schedule share shell start stash stat stats status store tag tail terminal test transition tree trigger type update
  view vote
`);
