// @ts-check
// What the status bubble says while an agent works: by kind of work, hour and season, and by how rarely it is said. A
// table; `status-messages.js` picks from it.

/** @typedef {import("./status-messages.js").Tiers} Tiers */

/** @param {string} messages Apart by ` | `. */
const list = (messages) => messages.split(" | ");

/**
 * @param {string} common
 * @param {string} uncommon
 * @param {string} rare
 * @param {string} legendary
 * @returns {Tiers}
 */
const tiers = (common, uncommon, rare, legendary) =>
  ({ common: list(common), uncommon: list(uncommon), rare: list(rare), legendary: list(legendary) });

/** @type {Record<string, Tiers>} */
export const POOL = {
  preparing: tiers(
    "Getting ready | Warming up | Pulling up a chair | Opening the folder | Taking a first look | Setting the table | Finding a clean page | Clearing the desk | Reading your message | Settling in | Lacing up | One moment",
    "Sharpening pencils | Filling the kettle | Turning on the desk lamp | Unrolling the blueprint | Tuning the strings | Rolling up sleeves | Putting on reading glasses | Counting the tools",
    "Dusting off the good keyboard | Asking the rubber duck to sit down | Stretching before the run | Lining up the dominoes | Feeding the hamster in the wheel",
    "Summoning the spirit of a quiet library | Waking the dragon, gently | Rehearsing the opening bow"),
  thinking: tiers(
    "Thinking | Thinking it through | Turning it over | Weighing the options | Following the thread | Connecting dots | Considering | Looking at it sideways | Working it out | Mulling it over | Tracing causes | Asking why",
    "Drawing on the back of an envelope | Pacing the room | Checking the assumptions | Walking around the problem | Arguing with itself, politely | Untangling the knot | Looking two moves ahead | Reading between the lines",
    "Staring out of the window, productively | Asking the rubber duck | Dividing by everything but zero | Holding three thoughts at once | Losing the thread and finding it again",
    "Having a eureka, please hold | Consulting the stars and the stack trace | Thinking so hard that the lamp flickers"),
  replying: tiers(
    "Writing it down | Putting it into words | Replying | Choosing words | Telling you about it | Wrapping it up | Getting to the point | Spelling it out | Writing back | Finding the right word | Saying it plainly | Making sense of it",
    "Cutting the adverbs | Moving the verb to the front | Dotting the i's | Reading it aloud first | Crossing out the long version | Adding one comma, removing two | Checking the tone | Looking for a shorter word",
    "Dictating to a very fast pigeon | Folding it into a paper plane | Sanding the sentences | Weeding out the maybes | Polishing the last line",
    "Carving it in stone, lightly | Composing a letter for the ages | Writing with a feather plucked from a phoenix"),
  waiting: tiers(
    "Over to you | Your move | Waiting for your word | Needs a yes or a no | Holding the door | Paused for you | Ready when you are | Asking first | Waiting for a nod | Standing by | A question for you | Hands off the keyboard",
    "Looking up expectantly | Pen in the air | Finger on the page | Waiting at the crossing | Keeping your place | Asking nicely | Holding that thought | One foot on the brake",
    "Whistling softly | Counting ceiling tiles | Practising patience | Watching the kettle | Twiddling bits",
    "Waiting like a cat at the door | Frozen mid-bow | As patient as a mountain"),
  run: tiers(
    "Running it | Running a command | Waiting for the prompt | Watching the output | At the command line | Letting it run | Pressing Enter | Keeping an eye on it | In the shell | Checking the exit code | Seeing what happens | Giving it a go",
    "Crossing fingers | Watching text scroll by | Listening to the fan | Making the cursor blink | Feeding the compiler | Waiting for green | Turning the crank | Tapping the gauge",
    "Negotiating with the shell | Looking busy while it builds | Placing a small bet on the exit code | Bribing the linker | Reading warnings that nobody reads",
    "Hoping for zero, the best of numbers | Riding the pipe like a water slide | Speaking fluent terminal"),
  read: tiers(
    "Reading | Reading the file | Turning pages | Taking it in | Going through it | Looking it over | Line by line | Reading closely | Following the code | Finding the part that matters | Checking what is there | Learning the layout",
    "Reading the small print | Following the footnotes | Putting in a bookmark | Underlining in pencil | Reading the comments too | Skimming, then reading again | Checking who calls it | Looking for the plot",
    "Enjoying a good docstring | Meeting the authors | Admiring the indentation | Finding a comment from long ago | Reading until the lamp runs out",
    "Reading it in the original | Discovering a lost chapter | Deciphering the scrolls"),
  write: tiers(
    "Writing a file | Starting a fresh page | Putting it down | Filling the page | Writing it out | Making something new | Adding a file | Setting it in type | Drafting | Laying the first bricks | Writing code | Saving as it goes",
    "Naming things, the hard part | Choosing a good file name | Ruling the margins | Aligning the braces | Writing the top line first | Inking the outline | Keeping it short | Leaving room to grow",
    "Baking from scratch | Writing what will be deleted last | Pressing flowers between the lines | Signing in the corner | Warming up the printing press",
    "Writing the great novel of configuration | Laying a cornerstone with a coin under it | Illuminating the first letter"),
  edit: tiers(
    "Editing | Changing a few lines | Making the change | Patching it up | Tidying | Moving things around | Fixing it in place | Adjusting | Trimming | Rewording the code | A careful edit | Swapping lines",
    "Measuring twice | Replacing one screw | Tightening the bolts | Pulling a thread, gently | Smoothing the seams | Sanding an edge | Leaving it nicer than before | Making the diff smaller",
    "Performing surgery on a running thought | Moving a comma and its family | Whittling | Straightening the picture frame | Changing the wheel at speed",
    "Restoring an old master | Editing with a scalpel and a steady breath | Turning lead into something lighter"),
  search: tiers(
    "Searching | Looking for it | Searching the code | Following names | Hunting matches | Combing through | Looking in every file | Finding who uses it | On the trail | Checking every corner | Sifting | Narrowing it down",
    "Looking under the sofa | Following footprints | Sweeping with a flashlight | Asking every file in turn | Checking the usual places | Turning over stones | Going through the drawers | Reading the index",
    "Dusting for fingerprints | Looking for a needle, finding the haystack | Interviewing witnesses | Drawing chalk lines | Sniffing out a symbol",
    "Finding that it was in the last place, as always | Searching with a lantern at noon | On the scent of the white whale"),
  glob: tiers(
    "Looking for files | Listing what is there | Walking the folders | Mapping the place | Counting files | Finding its way | Opening drawers | Going down the tree | Taking inventory | Exploring the folder | Seeing what is where | Learning the lay of the land",
    "Checking the map legend | Peeking into every folder | Climbing the directory tree | Reading the labels on boxes | Looking behind the build folder | Following the paths | Sorting by name | Counting shelves",
    "Leaving breadcrumbs | Finding the attic | Sidestepping the node_modules | Drawing a floor plan | Meeting a file with no extension",
    "Charting unknown directories | Here be dragons, and dotfiles | Discovering the source of the tree"),
  delegate: tiers(
    "A helper is on it | Asking a colleague | Working in parallel | Passing it on | A subagent works | Sharing the load | Handing over a part | Waiting for the report | Many hands | Someone else digs | Teamwork | Dividing the work",
    "Briefing the helper | Drawing straws | Sending a scout ahead | Two heads on it | Calling in a favour | Relaying the message | Holding a short meeting | Comparing notes",
    "Delegating like a manager, thanking like a friend | Passing the baton | Starting a small committee of one | Sending a postcard from the subtask | Whispering down the line",
    "Assembling the fellowship | Conducting a very small orchestra | Cloning itself, with paperwork"),
  web: tiers(
    "On the web | Looking it up | Fetching a page | Reading the docs | Checking the source | Asking the internet | Following a link | Waiting for the page | Going online for a moment | Gathering facts | Reading up | Opening a tab",
    "Declining cookies | Scrolling past the banner | Looking for the date of the article | Reading the answer below the accepted one | Checking a second source | Skipping the life story before the recipe | Finding the documentation | Closing a popup",
    "Surfing, carefully | Asking a search engine nicely | Reading the changelog for once | Finding the forum thread from long ago | Watching a page load in layers",
    "Reaching the end of the internet and turning back | Finding an answer by the very person who asked | Sending a raven to the nearest server"),
  plan: tiers(
    "Making a plan | Writing a list | Ordering the steps | Planning | Breaking it down | First things first | Ticking boxes | Sorting the work | Drawing the route | Setting milestones | Deciding what comes next | Keeping track",
    "Numbering the steps | Moving a card to the right | Crossing one off | Estimating, then doubling | Sketching the way | Putting the hard part first | Sharpening the scope | Reading its own list",
    "Adding an item only to tick it off | Planning the plan | Colour-coding in the mind | Folding the map the right way | Scheduling a small victory",
    "Seeing the whole board | Unrolling the master plan | Moving pins on a very large map"),
  mcp: tiers(
    "Using a tool | Calling a server | Plugged in | Asking a service | Talking to a tool | Waiting for the answer | Making a call | Connected | Handing over the arguments | Checking with a tool | Through the adapter | Getting an answer",
    "Finding the right socket | Reading the tool's manual | Speaking in schemas | Dialling | Waiting for the dial tone | Passing a note through the hatch | Minding the contract | Listening for the echo",
    "Shaking hands over JSON | Borrowing a tool from the neighbour | Tuning to the right frequency | Trying the universal remote | Stamping the form in triplicate",
    "Opening a hailing channel | Plugging the stars into the wall | Making first contact, with a schema"),
  other: tiers(
    "Working on it | Busy | Getting there | Making progress | On it | In the works | A moment | Doing the work | Still at it | Moving along | Step by step | Hard at work",
    "Turning gears | Keeping the wheels round | Adding a drop of oil | Carrying on | Humming quietly | Doing the thing | Putting one foot after the other | Stirring the pot",
    "Spinning plates, none dropped | Knitting bits | Juggling three oranges | Chasing a small cloud | Teaching an old byte new tricks",
    "Bending spoons, returning them after | Doing magic, the kind with a manual | Moving a mountain by the teaspoon"),
  morning: tiers(
    "Good morning | Early start | Morning work | First light on the keys | Fresh and awake | Coffee helps | A clear morning",
    "The early bird compiles | Still smelling of toast | Before the first meeting | Opening the shutters | Second cup, first bug",
    "Waking up with the garbage collector | Birds are singing, tests are running | The dew is still on the diff | Breakfast of champions: one small commit",
    "Greeting the sunrise from a terminal window | Up before the cron jobs"),
  afternoon: tiers(
    "Good afternoon | Afternoon work | After lunch | Steady as it goes | Through the afternoon | Halfway through the day | Sun over the desk",
    "Resisting the nap | Time for tea | The long part of the day | Finding a second wind | A biscuit would help",
    "Casting long shadows and short functions | The light moves across the desk | Siesta postponed | Pushing through the three o'clock fog",
    "Bending time toward teatime | Riding the golden hour"),
  evening: tiers(
    "Good evening | Evening work | One more thing today | Lamps on | Winding down slowly | Into the evening | Before dinner",
    "The office is quiet now | Last train of thought | Watching the sky turn | Closing tabs one by one | Supper can wait a minute",
    "Working by lamplight | Commuting between ideas | The crickets have opinions | A calm sea of green checks at dusk",
    "Painting the sunset in sixteen colours | Ending the day on an even number"),
  night: tiers(
    "Late work | Night shift | Quiet hours | Still awake | Under the desk lamp | While the house sleeps | The night is young",
    "Tiptoeing through the code | Only the fans are humming | Keeping the volume down | By the light of the monitor | You could sleep; this will go on",
    "The owls approve | Counting sheep, zero-based | Moonlight on the minimap | Whispering to the compiler",
    "Guarding the lighthouse till dawn | Making a wish on a falling process"),
  weekend: tiers(
    "Weekend work | No meetings today | At a weekend pace | For the fun of it | A quiet weekend | Slippers on | Taking it easy",
    "Hobby project hours | Pancakes first, then patches | The garden can wait | Sunday-driver speed | No standup, no problem",
    "Building a birdhouse of bits | Fixing what has squeaked all week | Working barefoot | A picnic among the pull requests",
    "Declaring this a hackathon of one | Sleeping in, asynchronously"),
  halloween: tiers(
    "Something stirs in the code | A spooky little task | Carving a pumpkin | Creaking stairs | By candlelight | Mist over the branches",
    "Looking for skeletons in the closet | Hearing footsteps in the log | A bat flew past the window | Sweeping cobwebs | Trick or treat, says the linter",
    "Laying a ghost reference to rest | Stirring the cauldron clockwise | Chasing a zombie process",
    "The great pumpkin approves this change | Dancing with the daemons at midnight"),
  christmas: tiers(
    "Wrapping it up with a bow | Checking the list twice | Smells of gingerbread | Snow on the window | Lights on the tree | A warm cup of something",
    "Hanging stockings on the heap | Untangling the fairy lights | Baking biscuits, no cookies | Sledging down the stack | Leaving a carrot for the reindeer",
    "Asking the elves for a code review | Hearing sleigh bells in the event loop | Wrapping an optional, with ribbon",
    "Coming down the chimney, exit code zero | The star on top is lit"),
  newYear: tiers(
    "A fresh start | New year, new page | Turning the calendar | Out with the old | Looking back and ahead | Confetti in the keyboard",
    "Resolving to write more tests | Updating the copyright year | Counting down from ten | Saving a dance for midnight | Sweeping up streamers",
    "Raising a glass to the old logs | Fireworks, but in a terminal | Promising fewer tabs this year",
    "Setting off a rocket of green checks | Crossing midnight without an off-by-one"),
  valentine: tiers(
    "With love | Made with care | A kind word for your code | Roses are red | Tied with a ribbon | Sealed with a commit",
    "Writing a love letter to the maintainer | Two modules, loosely coupled | Leaving chocolates by the server | Finding its perfect match | Saying yes to the merge",
    "Carving initials into the syntax tree | A candle-lit code review | Swiping right on this refactor",
    "True love: a test that never flakes | Hearts in all four corners of the screen"),
};
